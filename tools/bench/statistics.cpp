#include "tools/bench/statistics.h"

#include <algorithm>
#include <cmath>

namespace mlaindex::tools {
namespace {

double percentile(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], rank - static_cast<double>(below));
}

}  // namespace

Spread spread_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  return {.samples = static_cast<int>(samples.size()),
          .median = percentile(samples, 0.5),
          .low = percentile(samples, 0.1),
          .high = percentile(samples, 0.9),
          .least = samples.front()};
}

Spread scaled(const Spread& spread, double factor) noexcept {
  return {spread.samples, spread.median * factor, spread.low * factor, spread.high * factor, spread.least * factor};
}

}  // namespace mlaindex::tools
