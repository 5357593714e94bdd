#include "emulator/number_format.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace mlaindex::emulator {
namespace {

struct Layout {
  int exponent_bits, mantissa_bits;
  bool has_infinity;  // the top exponent holds infinity and NaN, as in IEEE 754
  bool has_nan;       // else only the all-ones code is NaN (e4m3), or nothing is
};

constexpr Layout layout(NumberFormat format) noexcept {
  switch (format) {
    case NumberFormat::e4m3: return {4, 3, false, true};
    case NumberFormat::e5m2: return {5, 2, true, true};
    case NumberFormat::e2m3: return {2, 3, false, false};
    case NumberFormat::e3m2: return {3, 2, false, false};
    case NumberFormat::e2m1: return {2, 1, false, false};
    case NumberFormat::f16: return {5, 10, true, true};
    case NumberFormat::bf16: return {8, 7, true, true};
  }
  return {};
}

constexpr int bias(const Layout& l) noexcept { return (1 << (l.exponent_bits - 1)) - 1; }

using Table = std::array<Decoded, 256>;

Table make_table(NumberFormat format) noexcept {
  Table table;
  for (std::uint32_t code = 0; code < 256; ++code) table[code] = decode(format, code);
  return table;
}

// |value| finite; `max_code` is the largest finite magnitude. Magnitude bits, rounded.
std::uint32_t encode_magnitude(double value, const Layout& l, Rounding rounding,
                               std::uint32_t max_code, std::uint32_t overflow_code) noexcept {
  if (value == 0) return 0;
  int exponent = std::ilogb(value);
  exponent = std::max(exponent, 1 - bias(l));
  const double units = std::ldexp(value, l.mantissa_bits - exponent);  // exact
  const double rounded = rounding == Rounding::nearest_even ? std::nearbyint(units) : std::trunc(units);
  // A carry out of the mantissa moves into the exponent field by itself.
  const std::int64_t code = (static_cast<std::int64_t>(exponent + bias(l) - 1) << l.mantissa_bits) +
                            static_cast<std::int64_t>(rounded);
  return code > max_code ? overflow_code : static_cast<std::uint32_t>(code);
}

std::uint16_t encode_ieee(float value, NumberFormat format, Rounding rounding, bool saturate) noexcept {
  const Layout l = layout(format);
  if (std::isnan(value)) return 0x7FFF;
  const std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const std::uint32_t infinity = ((1u << l.exponent_bits) - 1) << l.mantissa_bits;
  const std::uint32_t largest = infinity - 1;
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | (saturate ? largest : infinity));
  const std::uint32_t overflow = saturate || rounding == Rounding::toward_zero ? largest : infinity;
  return static_cast<std::uint16_t>(
      sign | encode_magnitude(std::fabs(double{value}), l, rounding, largest, overflow));
}

std::uint8_t encode_small(float value, NumberFormat format, std::uint32_t max_code) noexcept {
  const Layout l = layout(format);
  const std::uint32_t sign = std::signbit(value) ? 1u << (l.exponent_bits + l.mantissa_bits) : 0;
  if (std::isinf(value)) return static_cast<std::uint8_t>(sign | max_code);
  return static_cast<std::uint8_t>(
      sign | encode_magnitude(std::fabs(double{value}), l, Rounding::nearest_even, max_code, max_code));
}

}  // namespace

Decoded decode(NumberFormat format, std::uint32_t bits) noexcept {
  const Layout l = layout(format);
  const std::uint32_t mantissa_mask = (1u << l.mantissa_bits) - 1;
  const std::uint32_t exponent_mask = (1u << l.exponent_bits) - 1;
  const std::uint32_t mantissa = bits & mantissa_mask;
  const std::uint32_t exponent = (bits >> l.mantissa_bits) & exponent_mask;
  const bool negative = (bits >> (l.mantissa_bits + l.exponent_bits)) & 1;
  const auto with_sign = [negative](float v) { return negative ? -v : v; };

  if (exponent == exponent_mask && l.has_infinity) {
    const float special = mantissa == 0 ? std::numeric_limits<float>::infinity()
                                        : std::numeric_limits<float>::quiet_NaN();
    return {with_sign(special), 127};
  }
  if (l.has_nan && !l.has_infinity && exponent == exponent_mask && mantissa == mantissa_mask)
    return {std::numeric_limits<float>::quiet_NaN(), 127};
  const int e = exponent == 0 ? 1 - bias(l) : static_cast<int>(exponent) - bias(l);
  const std::uint32_t significand = exponent == 0 ? mantissa : mantissa | (1u << l.mantissa_bits);
  const float value = std::ldexp(static_cast<float>(significand), e - l.mantissa_bits);
  return {with_sign(value), significand == 0 ? Decoded::kZeroExponent : static_cast<std::int16_t>(e)};
}

const Decoded* decode_table(NumberFormat format) noexcept {
  static const Table e4m3 = make_table(NumberFormat::e4m3);
  static const Table e5m2 = make_table(NumberFormat::e5m2);
  static const Table e2m3 = make_table(NumberFormat::e2m3);
  static const Table e3m2 = make_table(NumberFormat::e3m2);
  static const Table e2m1 = make_table(NumberFormat::e2m1);
  switch (format) {
    case NumberFormat::e5m2: return e5m2.data();
    case NumberFormat::e2m3: return e2m3.data();
    case NumberFormat::e3m2: return e3m2.data();
    case NumberFormat::e2m1: return e2m1.data();
    default: return e4m3.data();
  }
}

float f16_to_f32(std::uint16_t bits) noexcept { return decode(NumberFormat::f16, bits).value; }

float bf16_to_f32(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t f32_to_f16(float value, Rounding rounding, bool saturate) noexcept {
  return encode_ieee(value, NumberFormat::f16, rounding, saturate);
}

std::uint16_t f32_to_bf16(float value, Rounding rounding, bool saturate) noexcept {
  return encode_ieee(value, NumberFormat::bf16, rounding, saturate);
}

std::uint8_t f32_to_e4m3(float value) noexcept {
  return std::isnan(value) ? 0x7F : encode_small(value, NumberFormat::e4m3, 0x7E);
}

std::uint8_t f32_to_e5m2(float value) noexcept {
  return std::isnan(value) ? 0x7F : encode_small(value, NumberFormat::e5m2, 0x7B);
}

std::uint8_t f32_to_e2m1(float value) noexcept {
  return std::isnan(value) ? 0x7 : encode_small(value, NumberFormat::e2m1, 0x7);
}

}  // namespace mlaindex::emulator
