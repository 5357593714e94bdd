#include "generator/base/tensor_map_params.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "generator/base/format.h"

namespace mlaindex {
namespace {

constexpr std::uint64_t kMagic = 0x70616d5f61696c6dULL;  // "mlia_map"

struct Packed {
  std::uint64_t magic;
  std::uint64_t address;
  std::uint64_t strides[4];
  std::uint32_t last_index[5];  // dims - 1, so that 2^32 fits
  std::uint16_t last_box[5];    // box - 1
  std::uint8_t element_strides[5];
  std::uint8_t rank, type, interleave, swizzle, l2_promotion, fill;
  std::uint8_t zero[37];
};
static_assert(sizeof(Packed) == 128);

Error refused(std::string message, std::string hint) {
  return {ErrorCode::invalid_argument, "tensor map: " + std::move(message), std::move(hint)};
}

// Bytes of a row of the box that one swizzle pattern spans; 0 where none applies.
std::uint32_t swizzle_span(TensorMapSwizzle swizzle) noexcept {
  switch (swizzle) {
    case TensorMapSwizzle::none: return 0;
    case TensorMapSwizzle::b32: return 32;
    case TensorMapSwizzle::b64: return 64;
    default: return 128;
  }
}

Status validate_dimension(const TensorMapParams& map, std::uint32_t d) {
  if (map.dims[d] < 1 || map.dims[d] > (std::uint64_t{1} << 32))
    return refused(fmt::format("dims[{}] is {}", d, map.dims[d]), "allowed: 1 to 2^32");
  if (map.box[d] < 1 || map.box[d] > 256)
    return refused(fmt::format("box[{}] is {}", d, map.box[d]), "allowed: 1 to 256 elements");
  if (map.element_strides[d] < 1 || map.element_strides[d] > 8)
    return refused(fmt::format("element_strides[{}] is {}", d, map.element_strides[d]), "allowed: 1 to 8");
  if (d == 0) return {};
  const std::uint64_t stride = map.strides[d - 1];
  if (stride % 16 != 0 || stride >= (std::uint64_t{1} << 40))
    return refused(fmt::format("the stride of dimension {} is {} bytes", d, stride),
                   "allowed: multiples of 16 below 2^40");
  return {};
}

}  // namespace

std::uint32_t element_bytes(TensorMapType type) noexcept {
  switch (type) {
    case TensorMapType::u8: return 1;
    case TensorMapType::u16:
    case TensorMapType::f16:
    case TensorMapType::bf16: return 2;
    case TensorMapType::u32:
    case TensorMapType::s32:
    case TensorMapType::f32:
    case TensorMapType::f32_ftz:
    case TensorMapType::tf32:
    case TensorMapType::tf32_ftz: return 4;
    case TensorMapType::u64:
    case TensorMapType::s64:
    case TensorMapType::f64: return 8;
    case TensorMapType::u4x16_align8:
    case TensorMapType::u4x16_align16:
    case TensorMapType::u6x16_align16: return 0;
  }
  return 0;
}

std::uint64_t box_bytes(const TensorMapParams& map) noexcept {
  std::uint64_t elements = 1;
  for (std::uint32_t d = 0; d < map.rank; ++d) {
    const std::uint32_t stride = d == 0 ? 1 : map.element_strides[d];
    elements *= (map.box[d] + stride - 1) / stride;
  }
  // 16 packed 4-bit elements take 8 bytes, or 16 where the type pads them.
  if (map.type == TensorMapType::u4x16_align8) return elements / 2;
  const std::uint32_t bytes = element_bytes(map.type);
  return bytes == 0 ? elements : elements * bytes;
}

Status validate(const TensorMapParams& map) {
  const bool padded = map.type == TensorMapType::u4x16_align16 || map.type == TensorMapType::u6x16_align16;
  if (map.rank < 1 || map.rank > 5)
    return refused("rank is " + std::to_string(map.rank), "allowed: 1 to 5");
  if (map.interleave != TensorMapInterleave::none && map.rank < 3)
    return refused("an interleaved map of rank " + std::to_string(map.rank), "needs rank 3 to 5");
  const std::uint64_t alignment = map.interleave == TensorMapInterleave::b32 || padded ? 32 : 16;
  if (map.address % alignment != 0)
    return refused("the global address is not aligned", std::to_string(alignment) + " bytes are needed");
  for (std::uint32_t d = 0; d < map.rank; ++d)
    if (Status status = validate_dimension(map, d); !status.ok()) return status;
  if (map.interleave == TensorMapInterleave::b32 && map.swizzle != TensorMapSwizzle::b32)
    return refused("32-byte interleave without 32-byte swizzle", "they go together");
  if (map.interleave == TensorMapInterleave::none) {
    const std::uint64_t bytes = map.type == TensorMapType::u4x16_align8
                                    ? map.box[0] / 2
                                    : std::uint64_t{map.box[0]} * std::max(1u, element_bytes(map.type));
    if (bytes % 16 != 0)
      return refused("a box row of " + std::to_string(bytes) + " bytes", "needs a multiple of 16");
    const std::uint32_t span = swizzle_span(map.swizzle);
    if (span != 0 && bytes > span)
      return refused("a box row of " + std::to_string(bytes) + " bytes under a " +
                         std::to_string(span) + "-byte swizzle",
                     "at most the span of the swizzle");
  }
  const bool floating = map.type >= TensorMapType::f16 && map.type <= TensorMapType::tf32_ftz;
  if (map.fill == TensorMapFill::nan && !floating)
    return refused("NaN fill of an integer type", "floating types only");
  return {};
}

TensorMapBytes pack(const TensorMapParams& map) noexcept {
  Packed packed{};
  packed.magic = kMagic;
  packed.address = map.address;
  for (std::size_t d = 0; d < 4; ++d) packed.strides[d] = map.strides[d];
  for (std::size_t d = 0; d < 5; ++d) {
    packed.last_index[d] = static_cast<std::uint32_t>(map.dims[d] - 1);
    packed.last_box[d] = static_cast<std::uint16_t>(map.box[d] - 1);
    packed.element_strides[d] = static_cast<std::uint8_t>(map.element_strides[d]);
  }
  packed.rank = static_cast<std::uint8_t>(map.rank);
  packed.type = static_cast<std::uint8_t>(map.type);
  packed.interleave = static_cast<std::uint8_t>(map.interleave);
  packed.swizzle = static_cast<std::uint8_t>(map.swizzle);
  packed.l2_promotion = map.l2_promotion;
  packed.fill = static_cast<std::uint8_t>(map.fill);
  TensorMapBytes bytes;
  std::memcpy(bytes.data(), &packed, sizeof packed);
  return bytes;
}

Result<TensorMapParams> unpack_tensor_map(std::span<const std::byte, 128> bytes) {
  Packed packed;
  std::memcpy(&packed, bytes.data(), sizeof packed);
  if (packed.magic != kMagic)
    return refused("these 128 bytes hold no packed parameters",
                   "a host machine needs maps made by pack(), not by the driver");
  TensorMapParams map;
  map.address = packed.address;
  for (std::size_t d = 0; d < 4; ++d) map.strides[d] = packed.strides[d];
  map.rank = packed.rank;
  for (std::size_t d = 0; d < 5; ++d) {
    const bool used = d < map.rank;
    map.dims[d] = used ? std::uint64_t{packed.last_index[d]} + 1 : 0;
    map.box[d] = used ? packed.last_box[d] + 1u : 0;
    map.element_strides[d] = packed.element_strides[d];
  }
  if (packed.type > 15 || packed.interleave > 2 || packed.swizzle > 6 || packed.fill > 1)
    return refused("the packed parameters are damaged", "they were overwritten after pack()");
  map.type = static_cast<TensorMapType>(packed.type);
  map.interleave = static_cast<TensorMapInterleave>(packed.interleave);
  map.swizzle = static_cast<TensorMapSwizzle>(packed.swizzle);
  map.l2_promotion = packed.l2_promotion;
  map.fill = static_cast<TensorMapFill>(packed.fill);
  if (Status status = validate(map); !status.ok()) return status.error();
  return map;
}

}  // namespace mlaindex
