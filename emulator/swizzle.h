// The XOR swizzles of shared memory. TMA and the tensor cores apply the same function to the bits of
// the absolute shared address, so a tile's base need not be aligned for them to agree.
#pragma once

#include <cstdint>

namespace mlaindex::emulator {

enum class Swizzle : std::uint8_t { none, b32, b64, b128, b128_atom32 };

constexpr std::uint32_t swizzled(std::uint32_t address, Swizzle mode) noexcept {
  switch (mode) {
    case Swizzle::none: return address;
    case Swizzle::b32: return address ^ ((address >> 3) & 0x10);
    case Swizzle::b64: return address ^ ((address >> 3) & 0x30);
    case Swizzle::b128: return address ^ ((address >> 3) & 0x70);
    case Swizzle::b128_atom32: return address ^ ((address >> 2) & 0x60);
  }
  return address;
}

// Bytes of one row of the pattern; 16 without swizzle, the row of a core matrix.
constexpr std::uint32_t row_bytes(Swizzle mode) noexcept {
  switch (mode) {
    case Swizzle::none: return 16;
    case Swizzle::b32: return 32;
    case Swizzle::b64: return 64;
    default: return 128;
  }
}

}  // namespace mlaindex::emulator
