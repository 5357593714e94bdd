// The 64-bit shared-memory matrix descriptors of wgmma (sm_90a) and tcgen05 (sm_100a).
#pragma once

#include <cstdint>

#include "emulator/swizzle.h"
#include "generator/base/result.h"

namespace mlaindex::emulator {

// A K-major operand: rows of M or N, 32 bytes of K an instruction.
struct MatrixDescriptor {
  std::uint32_t start = 0;                // bytes, 18-bit address within the CTA's shared memory
  std::uint32_t leading_byte_offset = 0;  // used without swizzle only
  std::uint32_t stride_byte_offset = 0;   // between groups of 8 rows
  Swizzle swizzle = Swizzle::none;
  std::uint32_t base_offset = 0;          // of wgmma: taken off address bits 7-9 where the swizzle looks at them
};

// invalid_argument names the field and its value: reserved bits, a missing tcgen05 version constant,
// an unknown swizzle mode, and the fields whose effect nothing settles (absolute LBO; base offset of tcgen05,
// and of wgmma but under the 128-byte swizzle).
Result<MatrixDescriptor> decode_tcgen05_descriptor(std::uint64_t bits);
Result<MatrixDescriptor> decode_wgmma_descriptor(std::uint64_t bits);

// Absolute shared address of byte `k` of row `row`; `k` is within one 32-byte K step.
constexpr std::uint32_t byte_address(const MatrixDescriptor& d, std::uint32_t row,
                                     std::uint32_t k) noexcept {
  const std::uint32_t group = d.start + (row / 8) * d.stride_byte_offset;
  if (d.swizzle == Swizzle::none)
    return group + (row % 8) * 16 + (k / 16) * d.leading_byte_offset + k % 16;
  const std::uint32_t linear = group + (row % 8) * row_bytes(d.swizzle) + k;
  const std::uint32_t shifted = linear - (d.base_offset << 7);
  return linear ^ shifted ^ swizzled(shifted, d.swizzle);
}

}  // namespace mlaindex::emulator
