// The 8-bit float of q and k: 1 sign, 4 exponent (bias 7) and 3 fraction bits, no infinities, NaN
// where all bits below the sign are set.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace mlaindex {

inline double e4m3_value(std::uint8_t bits) noexcept {
  static const std::array<double, 256> values = [] {
    std::array<double, 256> table{};
    for (unsigned i = 0; i < 256; ++i) {
      const int exponent = static_cast<int>(i >> 3 & 15);
      const int fraction = static_cast<int>(i & 7);
      double value = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
      if ((i & 0x7f) == 0x7f) value = std::numeric_limits<double>::quiet_NaN();
      table[i] = i & 0x80 ? -value : value;
    }
    return table;
  }();
  return values[bits];
}

// 2 to the power of the exponent, which is -6 for subnormals; 0 for zero. NaN counts as the largest.
inline double e4m3_power(std::uint8_t bits) noexcept {
  const int exponent = bits >> 3 & 15;
  if ((bits & 0x7f) == 0) return 0;
  return std::ldexp(1.0, exponent == 0 ? -6 : exponent - 7);
}

}  // namespace mlaindex
