#include "tools/bench/shape.h"

#include <charconv>
#include <optional>

#include "generator/base/format.h"

namespace mlaindex::tools {
namespace {

// "1x2x3" as numbers in their range, or nothing.
std::optional<std::vector<std::int64_t>> numbers_of(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    std::int64_t number = 0;
    const auto [stopped, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 1 || number > max_bench_extent) return {};
    numbers.push_back(number);
    if (stopped == end) return numbers;
    if (*stopped != 'x') return {};
    at = stopped + 1;
  }
}

}  // namespace

std::string_view bench_family_name(BenchFamily family) noexcept {
  return family == BenchFamily::prefill ? "prefill" : "decode";
}

std::string to_string(const BenchShape& shape) {
  if (shape.family == BenchFamily::prefill) return fmt::format("{}x{}", shape.tokens, shape.context);
  return fmt::format("{}x{}x{}", shape.requests, shape.tokens, shape.context);
}

Result<BenchShape> parse_bench_shape(BenchFamily family, std::string_view text) {
  const bool prefill = family == BenchFamily::prefill;
  const auto numbers = numbers_of(text);
  if (!numbers || numbers->size() != (prefill ? 2 : 3)) {
    return Error{ErrorCode::invalid_argument, fmt::format("--{} {}", bench_family_name(family), text),
                 fmt::format("allowed: {}, numbers from 1 to {}",
                             prefill ? "TOKENSxKEYS as in 2048x65536" : "REQUESTSxNEXT_NxCONTEXT as in 64x1x65536",
                             max_bench_extent)};
  }
  const std::vector<std::int64_t>& n = *numbers;
  if (prefill) return BenchShape{family, 1, n[0], n[1]};
  return BenchShape{family, n[0], n[1], n[2]};
}

std::vector<BenchShape> default_bench_shapes(BenchFamily family) {
  constexpr std::int64_t k = 1024;
  std::vector<BenchShape> shapes;
  const auto add = [&](std::int64_t requests, std::int64_t tokens, std::initializer_list<std::int64_t> contexts) {
    for (std::int64_t context : contexts) shapes.push_back({family, requests, tokens, context});
  };
  if (family == BenchFamily::prefill) {
    add(1, 64, {8 * k, 32 * k, 128 * k});
    add(1, 1024, {8 * k, 32 * k, 128 * k});
    add(1, 2048, {8 * k, 16 * k, 32 * k, 64 * k, 128 * k});
    add(1, 8192, {8 * k, 32 * k, 64 * k});
  } else {
    add(1, 1, {8 * k, 32 * k, 64 * k, 128 * k});
    add(16, 1, {8 * k, 32 * k, 64 * k});
    add(64, 1, {8 * k, 32 * k, 64 * k});
    add(64, 2, {8 * k, 32 * k, 64 * k});
    add(64, 4, {8 * k, 32 * k, 64 * k});
    add(256, 1, {8 * k, 32 * k, 64 * k});
  }
  return shapes;
}

}  // namespace mlaindex::tools
