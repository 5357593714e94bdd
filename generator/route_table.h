// Which plan was the fastest where: what a route is chosen by. The text form is that of generator/routes/README.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/arch.h"
#include "generator/base/result.h"
#include "generator/spec.h"

namespace mlaindex {

// Where a problem lies among those that were measured. Of contiguous keys: one request of all tokens, which has the
// mean number of keys of the requests.
struct RoutePoint {
  int requests = 1;
  int tokens = 1;  // of a request
  int keys = 1;    // of a request

  bool operator==(const RoutePoint&) const = default;
};

struct PlanTime {
  std::string plan;
  double microseconds = 0;

  bool operator==(const PlanTime&) const = default;
};

struct RouteRow {
  Layout layout = Layout::contiguous;
  int padded_heads = 64;
  int depth = 128;
  RoutePoint point;
  std::vector<PlanTime> times;  // one or more, each of another plan

  bool operator==(const RouteRow&) const = default;
};

struct RouteTable {
  Arch arch = Arch::sm_90a;
  bool measured = true;  // else predicted, by a model
  std::string gpu;       // "NVIDIA H200"
  std::vector<RouteRow> rows;

  bool operator==(const RouteTable&) const = default;
};

// `name` stands before every message: a file's. Errors: invalid_file, with the line, what it says and what is allowed.
Result<RouteTable> parse_route_table(std::string_view text, std::string_view name);

// Read back, it is the same table.
std::string to_string(const RouteTable& table);

struct NearRow {
  const RouteRow* row = nullptr;
  double weight = 0;  // how much it counts; the nearer, the more
};

// The rows by which a problem is judged, the nearest first: two of the layout of the spec, of the heads and then of the
// depth that come nearest, and among them the nearest by what generator/routes/README.md defines. One where a row lies
// at the point itself or the table has no other, none where it has no row of the layout. Of equally near ones those that
// come first in the table.
std::vector<NearRow> near_rows(const RouteTable& table, const Spec& spec, const RoutePoint& point);

// "1 request x 1 token x 8192 keys", of contiguous keys "1 token x 8192 keys".
std::string describe(Layout layout, const RoutePoint& point);

// What travels inside the library, parsed at the first call.
const RouteTable& shipped_route_table(Arch arch);

}  // namespace mlaindex
