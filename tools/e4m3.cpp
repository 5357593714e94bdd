#include "tools/e4m3.h"

#include <bit>

namespace mlaindex::tools {

std::uint8_t encode_e4m3(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31 << 7;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7f;
  const float absolute = std::bit_cast<float>(magnitude);
  if (absolute >= e4m3_max) return static_cast<std::uint8_t>(sign | 0x7e);

  // Below 2^-6 the spacing is 2^-9: adding 2^14 leaves exactly the subnormal's bits, rounded, at
  // the end of the f32 fraction. A round-up to 2^-6 gives the first normal's code by itself.
  if (absolute < 0x1p-6f) {
    return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(absolute + 0x1p14f) & 0xff));
  }
  // Round the fraction to 3 bits in integer arithmetic; a carry moves into the exponent.
  const std::uint32_t rounded = magnitude + 0x7ffff + (magnitude >> 20 & 1);
  const std::uint32_t code = (rounded >> 20) - ((127 - 7) << 3);
  return static_cast<std::uint8_t>(sign | (code > 0x7e ? 0x7e : code));
}

}  // namespace mlaindex::tools
