// The small floating-point formats: exact decoding, and conversion from f32 as `cvt` rounds.
#pragma once

#include <cstdint>

namespace mlaindex::emulator {

enum class NumberFormat : std::uint8_t { e4m3, e5m2, e2m3, e3m2, e2m1, f16, bf16 };

// A value and the exponent its significand is aligned by: that of the leading one, or the format's
// least exponent for a subnormal.
struct Decoded {
  float value = 0;
  std::int16_t exponent = kZeroExponent;
  static constexpr std::int16_t kZeroExponent = -1000;  // a zero never decides an alignment
};

Decoded decode(NumberFormat format, std::uint32_t bits) noexcept;

// Table of all codes of a format of at most 8 bits.
const Decoded* decode_table(NumberFormat format) noexcept;

float f16_to_f32(std::uint16_t bits) noexcept;
float bf16_to_f32(std::uint16_t bits) noexcept;

enum class Rounding : std::uint8_t { nearest_even, toward_zero };

// NaN becomes the canonical NaN 0x7FFF. Overflow is infinity, or the largest finite value if `saturate`.
std::uint16_t f32_to_f16(float value, Rounding rounding = Rounding::nearest_even,
                         bool saturate = false) noexcept;
std::uint16_t f32_to_bf16(float value, Rounding rounding = Rounding::nearest_even,
                          bool saturate = false) noexcept;
// Round to nearest even, saturating to the largest finite value; NaN is 0x7F.
std::uint8_t f32_to_e4m3(float value) noexcept;
std::uint8_t f32_to_e5m2(float value) noexcept;
// Round to nearest even, saturating to 6; the low four bits.
std::uint8_t f32_to_e2m1(float value) noexcept;

}  // namespace mlaindex::emulator
