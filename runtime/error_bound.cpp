#include "runtime/error_bound.h"

#include <cmath>
#include <limits>

namespace mlaindex {

AccumulationModel accumulation_model(Arch arch) noexcept {
  if (arch == Arch::sm_90a) return {.cut = 0x1p-13, .sum_cut = 0x1p-13};
  return {.cut = 0x1p-25, .sum_cut = 0x1p-23};
}

double score_bound(int num_heads, double weighted_bounds, double weighted_dots, double k_scale) noexcept {
  const double roundings = num_heads + 3;
  const double gamma = roundings * 0x1p-24 / (1 - roundings * 0x1p-24);
  const double scale = std::fabs(k_scale);
  const double largest = weighted_dots * (1 + gamma) * std::max(scale, 1.0);
  if (largest >= static_cast<double>(std::numeric_limits<float>::max())) {
    return std::numeric_limits<double>::infinity();
  }
  const double subnormals = 0x1p-150 * (num_heads * scale + 1);
  return scale * (weighted_bounds + gamma * weighted_dots) + subnormals;
}

}  // namespace mlaindex
