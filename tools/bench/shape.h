// The problem sizes that a benchmark times.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/result.h"

namespace mlaindex::tools {

enum class BenchFamily {
  prefill,  // contiguous keys of one request, whose last its tokens are; where there are fewer keys, each token sees all
  decode,   // paged keys: next_n tokens of every request
};

std::string_view bench_family_name(BenchFamily family) noexcept;

struct BenchShape {
  BenchFamily family = BenchFamily::prefill;
  std::int64_t requests = 1;  // prefill: one
  std::int64_t tokens = 1;    // of a request: of decode next_n
  std::int64_t context = 1;   // keys of a request; of several requests their mean

  bool operator==(const BenchShape&) const = default;
};

inline constexpr std::int64_t max_bench_extent = 1 << 24;

// "2048x65536": tokens x keys. "64x1x65536": requests x next_n x context.
std::string to_string(const BenchShape& shape);

// The same read back; every number from 1 to max_bench_extent. invalid_argument with what is allowed.
Result<BenchShape> parse_bench_shape(BenchFamily family, std::string_view text);

// What is timed when nothing is asked for: smaller and larger batches over growing contexts.
std::vector<BenchShape> default_bench_shapes(BenchFamily family);

}  // namespace mlaindex::tools
