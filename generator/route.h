// Which plan for which spec, and which grid for which problem.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/base/result.h"
#include "generator/plan.h"
#include "generator/route_table.h"
#include "generator/spec.h"

namespace mlaindex {

struct ProblemSize {
  int num_tokens = 0;
  int num_keys = 0;      // paged: of the longest request that the block table has room for
  int num_requests = 0;  // of paged keys and ragged batches
};

// Where a problem of that size lies in a route table.
RoutePoint route_point(Layout layout, const ProblemSize& size) noexcept;

// What a plan was chosen by.
enum class RouteBasis {
  only_plan,     // the spec has no other
  unknown_size,  // the default one is taken
  table,         // the fastest in the nearest rows of the table
  rule,          // the table has no row for the layout: the default one, or for few columns the narrow one
};

struct Route {
  Plan plan;
  std::vector<std::string_view> candidates;  // what there was to choose from
  RouteBasis basis = RouteBasis::only_plan;
  std::vector<NearRow> rows;  // of the table, where that is the basis
};

// The plan that is expected to be the fastest for the spec and a problem of that size: of those that a route may choose
// for the spec, the one with the least times in the nearest rows of the table, which must be that of the spec's arch.
// Checked. The same input gives the same choice on every machine. Errors: those of validate(spec) and make_plan.
Result<Route> choose_route(const Spec& spec, const ProblemSize& size, const RouteTable& table);

// The same by the shipped table, and of it the plan.
Result<Plan> route(const Spec& spec, const ProblemSize& size = {});

// "paged_narrow: measured 3.4 us against 3.9 us of paged at 1 request x 1 token x 8192 keys, 64 heads, depth 128
// (NVIDIA H200)". The table is that of the choice.
std::string explain_route(const Route& route, const RouteTable& table);

// CTAs of a launch. Of a persistent plan: {workers, 1}, one for each slot of the GPU but no more than
// there are tiles. Of others: {token blocks, key parts}; the keys of a block are split over CTAs where
// the blocks alone underfill the machine. At least {1, 1}. Depends on sizes and the SM count only, and
// never changes a score: workers and parts have disjoint keys.
struct LaunchGrid {
  int x = 1;
  int y = 1;
  // Of plans that keep keys: what generator/resident_schedule.h tells the kernel.
  std::uint32_t unit_share = 0;
  std::uint16_t in_sequence = 0;
  std::uint16_t log2_pieces = 0;
};
LaunchGrid launch_grid(const Spec& spec, const Plan& plan, const ProblemSize& size, int num_sms) noexcept;

}  // namespace mlaindex
