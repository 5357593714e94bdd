// f32 to e4m3: 4 exponent bits of bias 7, 3 fraction bits, no infinities, 0x7f the NaN.
#pragma once

#include <cstdint>

namespace mlaindex::tools {

inline constexpr float e4m3_max = 448.0f;

// Nearest, ties to even; beyond 448 saturates; NaN stays NaN.
std::uint8_t encode_e4m3(float value) noexcept;

}  // namespace mlaindex::tools
