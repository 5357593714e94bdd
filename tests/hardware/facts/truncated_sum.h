// The published model of a tensor core's sum, in integers: independent of the emulator's.
#pragma once

#include <cstdint>
#include <span>

namespace mlaindex::hardware {

struct SumModel {
  int fraction_bits = 13;  // terms are aligned to the largest exponent and cut there, toward zero
  int mantissa_bits = 13;  // of the result, cut toward zero
};

// a . b + c of one instruction: e4m3 products whose significands are not renormalised, all terms added exactly after
// the cut. No NaN, no infinity; a.size() == b.size() <= 32. The result is a normal f32 or zero.
float truncated_sum(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, float c, const SumModel& model);

}  // namespace mlaindex::hardware
