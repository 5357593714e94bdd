#include "runtime/error_bound.h"

#include <cmath>
#include <limits>

namespace mlaindex {

AccumulationModel accumulation_model(Arch arch) noexcept {
  if (arch == Arch::sm_90a) return {.cut = 0x1p-13, .sum_cut = 0x1p-13};
  return {.cut = 0x1p-25, .sum_cut = 0x1p-23};
}

double score_bound(int num_heads, FoldType fold, double weighted_bounds, double weighted_dots, double k_scale) noexcept {
  const bool bf16 = fold == FoldType::bf16;
  const double bf16_roundings = bf16 ? bf16_run + 3 : 0;
  const double roundings = num_heads + 3;
  const double gamma = 1 / ((1 - roundings * 0x1p-24) * (1 - bf16_roundings * 0x1p-8)) - 1;
  const double scale = std::fabs(k_scale);
  const double largest = weighted_dots * (1 + gamma) * std::max(scale, 1.0);
  if (largest >= (bf16 ? least_infinite_bf16 : static_cast<double>(std::numeric_limits<float>::max()))) {
    return std::numeric_limits<double>::infinity();
  }
  const double subnormals = 0x1p-150 * (num_heads * scale + 1) + (bf16 ? 0x1p-107 * num_heads * scale : 0);
  return scale * (weighted_bounds + gamma * weighted_dots) + subnormals;
}

}  // namespace mlaindex
