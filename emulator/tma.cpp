#include "emulator/tma.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace mlaindex::emulator {
namespace {

Error refused(std::string message, std::string hint) {
  return {ErrorCode::invalid_argument, "TMA: " + std::move(message), std::move(hint)};
}

Swizzle swizzle_of(TensorMapSwizzle swizzle) noexcept {
  switch (swizzle) {
    case TensorMapSwizzle::b32: return Swizzle::b32;
    case TensorMapSwizzle::b64: return Swizzle::b64;
    case TensorMapSwizzle::b128: return Swizzle::b128;
    case TensorMapSwizzle::b128_atom32: return Swizzle::b128_atom32;
    default: return Swizzle::none;
  }
}

// Elements are counted in bits so that packed 4-bit types fit.
std::uint64_t element_bits(TensorMapType type) noexcept {
  return type == TensorMapType::u4x16_align8 ? 4 : std::uint64_t{element_bytes(type)} * 8;
}

std::uint32_t row_bytes(const TensorMapParams& map) noexcept {
  return static_cast<std::uint32_t>(map.box[0] * element_bits(map.type) / 8);
}

std::uint32_t num_rows(const TensorMapParams& map, std::uint32_t num_boxes) noexcept {
  return static_cast<std::uint32_t>(box_bytes(map) * num_boxes / row_bytes(map));
}

constexpr std::uint32_t kNanPattern = 0x7FF77FF7;  // of f32

// One row of the box: consecutive elements of dimension 0.
struct RowPlan {
  std::uint64_t address = 0;   // of the first element inside the tensor
  std::uint32_t skip = 0;      // bytes of fill before it
  std::uint32_t inside = 0;    // bytes inside the tensor
};

RowPlan plan_row(const TensorMapParams& map, const std::array<std::int64_t, 5>& x) noexcept {
  RowPlan plan;
  std::uint64_t address = map.address;
  for (std::uint32_t d = 1; d < map.rank; ++d) {
    if (x[d] < 0 || static_cast<std::uint64_t>(x[d]) >= map.dims[d]) return plan;
    address += static_cast<std::uint64_t>(x[d]) * map.strides[d - 1];
  }
  const std::int64_t first = std::max<std::int64_t>(x[0], 0);
  const std::int64_t last = std::min<std::int64_t>(x[0] + map.box[0], static_cast<std::int64_t>(map.dims[0]));
  if (first >= last) return plan;
  const std::uint64_t bits = element_bits(map.type);
  plan.address = address + static_cast<std::uint64_t>(first) * bits / 8;
  plan.skip = static_cast<std::uint32_t>(static_cast<std::uint64_t>(first - x[0]) * bits / 8);
  plan.inside = static_cast<std::uint32_t>(static_cast<std::uint64_t>(last - first) * bits / 8);
  return plan;
}

Error out_of_bounds(const GlobalMemory& global, const RowPlan& plan) {
  return refused("a row of " + std::to_string(plan.inside) + " bytes lies outside every buffer: " +
                     global.describe(plan.address),
                 "the tensor map describes more memory than the buffer has");
}

class Box {
 public:
  Box(const TensorMapParams& map, const GlobalMemory& global, SharedMemory& shared, std::uint32_t address)
      : map_(map), global_(global), shared_(shared), at_(address), mode_(swizzle_of(map.swizzle)),
        row_bytes_(row_bytes(map)), pitch_(row_pitch(map)) {}

  Status load_row(const RowPlan& plan) {
    std::byte row[2048];
    const std::uint32_t pattern = map_.fill == TensorMapFill::nan ? kNanPattern : 0;
    for (std::uint32_t i = 0; i < row_bytes_; i += 4) std::memcpy(row + i, &pattern, 4);
    if (plan.inside != 0) {
      if (global_.find(plan.address, plan.inside) == nullptr) return out_of_bounds(global_, plan);
      std::memcpy(row + plan.skip, reinterpret_cast<const std::byte*>(plan.address), plan.inside);
    }
    for (std::uint32_t i = 0; i < row_bytes_; i += 16) std::memcpy(shared_.at(swizzled(at_ + i, mode_)), row + i, 16);
    at_ += pitch_;
    return {};
  }

  Status store_row(RowPlan plan, bool add) {
    std::byte row[2048];
    for (std::uint32_t i = 0; i < row_bytes_; i += 16) std::memcpy(row + i, shared_.at(swizzled(at_ + i, mode_)), 16);
    at_ += pitch_;
    if (plan.inside == 0) return {};
    if (add && plan.inside % 16 != 0)
      return refused("an adding store over an edge at " + std::to_string(plan.inside) + " bytes of a row",
                     "a multiple of 16 is modelled; what lies behind the edge in such a piece was not measured");
    plan.inside = (plan.inside + 15) / 16 * 16;
    const GlobalMemory::Buffer* buffer = global_.find(plan.address, plan.inside);
    if (buffer == nullptr) return out_of_bounds(global_, plan);
    if (!buffer->writable) return refused("a store to the read-only buffer '" + buffer->name + "'", "");
    auto* target = reinterpret_cast<std::byte*>(plan.address);
    if (!add) {
      std::memcpy(target, row + plan.skip, plan.inside);
      return {};
    }
    for (std::uint32_t i = 0; i < plan.inside; i += 4) {
      std::uint32_t a, b;
      std::memcpy(&a, target + i, 4);
      std::memcpy(&b, row + plan.skip + i, 4);
      a = map_.type == TensorMapType::f32 ? std::bit_cast<std::uint32_t>(std::bit_cast<float>(a) + std::bit_cast<float>(b))
                                          : a + b;
      std::memcpy(target + i, &a, 4);
    }
    return {};
  }

 private:
  const TensorMapParams& map_;
  const GlobalMemory& global_;
  SharedMemory& shared_;
  std::uint32_t at_;
  Swizzle mode_;
  std::uint32_t row_bytes_, pitch_;
};

// Calls visit(coordinates of the row's first element) for the rows of the box, dimension 1 fastest.
template <class F>
Status for_rows(const TensorMapParams& map, const Coordinates& start, F visit) {
  std::array<std::uint32_t, 5> i{};
  for (;;) {
    std::array<std::int64_t, 5> x{};
    for (std::uint32_t d = 0; d < map.rank; ++d) x[d] = std::int64_t{start[d]} + i[d];
    if (Status status = visit(x); !status.ok()) return status;
    std::uint32_t d = 1;
    while (d < map.rank && ++i[d] == map.box[d]) i[d++] = 0;
    if (d >= map.rank) return {};
  }
}

}  // namespace

Status check_copy(const TensorMapParams& map, std::uint32_t shared_address) {
  if (map.interleave != TensorMapInterleave::none)
    return refused("an interleaved map", "interleave NONE is modelled");
  if (element_bits(map.type) == 0) return refused("a padded sub-byte type", "unpadded types are modelled");
  if (map.swizzle > TensorMapSwizzle::b128_atom32)
    return refused("swizzle mode " + std::to_string(static_cast<int>(map.swizzle)), "modes 0 to 4 are modelled");
  for (std::uint32_t d = 1; d < map.rank; ++d)
    if (map.element_strides[d] != 1) return refused("element strides other than 1", "they are not modelled");
  if (map.fill == TensorMapFill::nan && map.type != TensorMapType::f32)
    return refused("NaN fill of a type other than f32", "its bits were measured for f32 only");
  if (map.swizzle == TensorMapSwizzle::b128_atom32 && row_bytes(map) != 128)
    return refused("a box row of " + std::to_string(row_bytes(map)) + " bytes under a swizzle with 32-byte atoms",
                   "the row must fill the span of 128 bytes; how shorter ones lie was not measured");
  if (shared_address % 128 != 0)
    return refused("shared address " + std::to_string(shared_address), "tensor copies need 128-byte alignment");
  return {};
}

Status check_start(const TensorMapParams& map, const Coordinates& start, bool store) {
  const std::int64_t bits = start[0] * static_cast<std::int64_t>(element_bits(map.type));
  if (bits % 128 != 0)
    return refused("a box that starts at element " + std::to_string(start[0]) + " of a row, " + std::to_string(bits / 8) + " bytes",
                   "a multiple of 16 bytes is needed: an H200 stops with an illegal instruction");
  for (std::uint32_t d = 0; store && d < map.rank; ++d)
    if (start[d] < 0)
      return refused("a store to coordinate " + std::to_string(start[d]) + " of dimension " + std::to_string(d),
                     "negative ones are for loads: an H200 stops with an illegal instruction");
  return {};
}

std::uint32_t row_pitch(const TensorMapParams& map) noexcept {
  return map.swizzle == TensorMapSwizzle::none ? row_bytes(map) : row_bytes(swizzle_of(map.swizzle));
}

std::uint32_t shared_bytes(const TensorMapParams& map, std::uint32_t num_boxes) noexcept {
  return num_rows(map, num_boxes) * row_pitch(map);
}

std::vector<SharedRange> shared_ranges(const TensorMapParams& map, std::uint32_t num_boxes, std::uint32_t shared_address) {
  if (row_pitch(map) == row_bytes(map)) return {{shared_address, shared_bytes(map, num_boxes)}};
  std::vector<SharedRange> ranges;
  for (std::uint32_t row = 0; row < num_rows(map, num_boxes); ++row)
    for (std::uint32_t i = 0; i < row_bytes(map); i += 16)
      ranges.push_back({swizzled(shared_address + row * row_pitch(map) + i, swizzle_of(map.swizzle)), 16});
  return ranges;
}

Status copy_to_shared(const TensorMapParams& map, const Coordinates& start, const GlobalMemory& global,
                      SharedMemory& shared, std::uint32_t shared_address) {
  Box box(map, global, shared, shared_address);
  return for_rows(map, start, [&](const auto& x) { return box.load_row(plan_row(map, x)); });
}

Status gather_to_shared(const TensorMapParams& map, const Coordinates& rows, const GlobalMemory& global,
                        SharedMemory& shared, std::uint32_t shared_address) {
  if (map.rank != 2 || map.box[1] != 1) return refused("gather4 with another map", "it needs rank 2 and a box {n, 1}");
  Box box(map, global, shared, shared_address);
  for (std::size_t j = 0; j < 4; ++j)
    if (Status status = box.load_row(plan_row(map, {rows[0], rows[1 + j]})); !status.ok()) return status;
  return {};
}

Status copy_to_global(const TensorMapParams& map, const Coordinates& start, const GlobalMemory& global,
                      SharedMemory& shared, std::uint32_t shared_address, bool add) {
  if (add && map.type != TensorMapType::f32 && map.type != TensorMapType::u32 && map.type != TensorMapType::s32)
    return refused("an adding store of this element type", "f32, u32 and s32 are modelled");
  Box box(map, global, shared, shared_address);
  return for_rows(map, start, [&](const auto& x) { return box.store_row(plan_row(map, x), add); });
}

}  // namespace mlaindex::emulator
