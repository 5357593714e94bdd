// The parameters of a TMA tensor map, in the driver's numbering and units.
//
// The driver's 128 bytes are opaque; a host machine cannot read them. Code that targets the
// emulator packs these parameters into 128 bytes of its own, which travel through kernel parameters
// and memory like the driver's, and are recognised by content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "generator/base/result.h"

namespace mlaindex {

enum class TensorMapType : std::uint8_t {
  u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16, f32_ftz, tf32, tf32_ftz,
  u4x16_align8, u4x16_align16, u6x16_align16,
};
enum class TensorMapInterleave : std::uint8_t { none, b16, b32 };
enum class TensorMapSwizzle : std::uint8_t {
  none, b32, b64, b128, b128_atom32, b128_atom32_flip8, b128_atom64,
};
enum class TensorMapFill : std::uint8_t { zeros, nan };

struct TensorMapParams {
  std::uint64_t address = 0;                    // of element (0, ..., 0)
  std::uint32_t rank = 0;                       // 1..5; dimension 0 is the contiguous one
  std::array<std::uint64_t, 5> dims{};          // elements
  std::array<std::uint64_t, 4> strides{};       // bytes; strides[d - 1] belongs to dimension d
  std::array<std::uint32_t, 5> box{};           // elements
  std::array<std::uint32_t, 5> element_strides{1, 1, 1, 1, 1};
  TensorMapType type = TensorMapType::u8;
  TensorMapInterleave interleave = TensorMapInterleave::none;
  TensorMapSwizzle swizzle = TensorMapSwizzle::none;
  std::uint8_t l2_promotion = 0;                // a hint: 0 none, 1 64 B, 2 128 B, 3 256 B
  TensorMapFill fill = TensorMapFill::zeros;

  bool operator==(const TensorMapParams&) const = default;
};

// Bytes of one element; 0 for the packed sub-byte types.
std::uint32_t element_bytes(TensorMapType type) noexcept;

// Bytes one full box occupies in shared memory, fill included.
std::uint64_t box_bytes(const TensorMapParams& params) noexcept;

// The driver's rules for encoding a tiled map. invalid_argument names the field, its value and rule.
Status validate(const TensorMapParams& params);

using TensorMapBytes = std::array<std::byte, 128>;

// Requires a valid map.
TensorMapBytes pack(const TensorMapParams& params) noexcept;

// invalid_argument if the bytes were not made by `pack`, for example because they are the driver's.
Result<TensorMapParams> unpack_tensor_map(std::span<const std::byte, 128> bytes);

}  // namespace mlaindex
