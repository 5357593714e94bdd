#include "tools/tune/shapes.h"

#include <initializer_list>

namespace mlaindex::tools {
namespace {

constexpr std::int64_t k = 1024;

// What one launch may be: visible scores of contiguous keys, keys of all requests.
constexpr std::int64_t most_scores = std::int64_t{1} << 28;
constexpr std::int64_t most_keys = std::int64_t{1} << 22;

using Numbers = std::initializer_list<std::int64_t>;

// Fewer keys than tokens only where there are few.
std::vector<BenchShape> prefill(Numbers tokens, Numbers keys) {
  std::vector<BenchShape> shapes;
  for (std::int64_t t : tokens) {
    for (std::int64_t n : keys) {
      if (t * n <= most_scores && (t <= n || n <= 2 * k)) shapes.push_back({BenchFamily::prefill, 1, t, n});
    }
  }
  return shapes;
}

std::vector<BenchShape> decode(Numbers requests, Numbers tokens, Numbers contexts) {
  std::vector<BenchShape> shapes;
  for (std::int64_t b : requests) {
    for (std::int64_t t : tokens) {
      for (std::int64_t n : contexts) {
        if (b * n <= most_keys) shapes.push_back({BenchFamily::decode, b, t, n});
      }
    }
  }
  return shapes;
}

}  // namespace

std::vector<BenchShape> grid_shapes(BenchFamily family) {
  if (family == BenchFamily::decode) return decode({1, 4, 16, 64, 256}, {1, 2, 3, 4, 5, 6, 8, 16, 64}, {1 * k, 8 * k, 64 * k});
  // Keys that fill their tiles, and keys that do not.
  std::vector<BenchShape> shapes;
  for (const std::vector<BenchShape>& some :
       {prefill({1, 8, 64, 256, k, 4 * k, 16 * k}, {64, 128, 256, 512, k, 2 * k, 8 * k, 32 * k, 128 * k}),
        prefill({4, 16, 32, 128, 512, 2 * k}, {256, 512, k, 2 * k, 4 * k, 16 * k, 64 * k}),
        prefill({2, 20, 130, 500, 2000, 6000}, {100, 300, 600, 1300, 3500, 14'000, 60'000})})
    shapes.insert(shapes.end(), some.begin(), some.end());
  return shapes;
}

std::vector<BenchShape> held_out_shapes(BenchFamily family) {
  if (family == BenchFamily::decode) return decode({2, 7, 30, 100}, {1, 2, 3, 4, 7}, {2500, 20'000, 90'000});
  return prefill({6, 28, 100, 370, 1500}, {90, 210, 450, 1100, 2600, 9000, 33'000});
}

}  // namespace mlaindex::tools
