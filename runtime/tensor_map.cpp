#include "runtime/tensor_map.h"

#include <algorithm>

namespace mlaindex {
namespace {

constexpr std::uint8_t promote_to_256_bytes = 3;  // TensorMapParams::l2_promotion

// A row of the operand tile is one head or key: its swizzle spans the row.
TensorMapSwizzle row_swizzle(int depth) noexcept {
  if (depth == 32) return TensorMapSwizzle::b32;
  return depth == 64 ? TensorMapSwizzle::b64 : TensorMapSwizzle::b128;
}

}  // namespace

TensorMapParams q_map_params(const Spec& spec, const Plan& plan, std::uint64_t q, std::int64_t num_tokens) noexcept {
  const auto depth = static_cast<std::uint32_t>(spec.depth);
  const auto heads = static_cast<std::uint64_t>(spec.num_heads);
  const auto tokens = static_cast<std::uint64_t>(num_tokens);
  const auto box_heads = static_cast<std::uint32_t>(plan.padded_heads);
  const auto box_tokens = static_cast<std::uint32_t>(plan.tokens_per_box);
  const std::uint64_t head_bytes = depth;
  const std::uint64_t token_bytes = heads * depth;

  TensorMapParams map{.address = q, .rank = 3, .type = TensorMapType::u8, .swizzle = row_swizzle(spec.depth)};
  if (plan.column_order == ColumnOrder::head_major) {
    map.dims = {depth, tokens, heads};
    map.strides = {token_bytes, head_bytes};
    map.box = {depth, box_tokens, box_heads};
  } else if (plan.column_order == ColumnOrder::token_major) {
    map.dims = {depth, heads, tokens};
    map.strides = {head_bytes, token_bytes};
    map.box = {depth, box_heads, box_tokens};
  } else if (heads % 2 == 0) {
    map.rank = 4;
    map.dims = {depth, 2, tokens, heads / 2};
    map.strides = {head_bytes, token_bytes, 2 * head_bytes};
    map.box = {depth, 2, box_tokens, box_heads / 2};
  } else {  // the head after the last must not be another token's: one box a pair
    map.dims = {depth, heads, tokens};
    map.strides = {head_bytes, token_bytes};
    map.box = {depth, 2, box_tokens};
  }
  return map;
}

TensorMapParams k_map_params(const Spec& spec, const Plan& plan, std::uint64_t k, std::int64_t num_keys) noexcept {
  const auto depth = static_cast<std::uint32_t>(spec.depth);
  TensorMapParams map{.address = k, .rank = 2, .type = TensorMapType::u8, .swizzle = row_swizzle(spec.depth),
                      .l2_promotion = promote_to_256_bytes};
  map.dims = {depth, static_cast<std::uint64_t>(num_keys)};
  map.strides = {depth};
  map.box = {depth, static_cast<std::uint32_t>(plan.tile_keys)};
  return map;
}

TensorMapParams page_map_params(const Spec& spec, const Plan& plan, std::uint64_t pages, std::int64_t num_pages,
                                std::int64_t stride) noexcept {
  const auto depth = static_cast<std::uint32_t>(spec.depth);
  const auto page_size = static_cast<std::uint32_t>(spec.page_size);
  TensorMapParams map{.address = pages, .rank = 3, .type = TensorMapType::u8, .swizzle = row_swizzle(spec.depth),
                      .l2_promotion = promote_to_256_bytes};
  map.dims = {depth, page_size, static_cast<std::uint64_t>(num_pages)};
  map.strides = {depth, static_cast<std::uint64_t>(stride)};
  map.box = {depth, std::min(page_size, static_cast<std::uint32_t>(plan.tile_keys)), 1};
  return map;
}

TensorMapParams k_scale_page_map_params(const Spec& spec, const Plan& plan, std::uint64_t scales, std::int64_t num_pages,
                                        std::int64_t stride) noexcept {
  const auto page_size = static_cast<std::uint32_t>(spec.page_size);
  TensorMapParams map{.address = scales, .rank = 2, .type = TensorMapType::f32};
  map.dims = {page_size, static_cast<std::uint64_t>(num_pages)};
  map.strides = {static_cast<std::uint64_t>(stride)};
  map.box = {std::min(page_size, static_cast<std::uint32_t>(plan.tile_keys)), 1};
  return map;
}

Status encode(const Driver& driver, const TensorMapParams& params, cuda::TensorMap& map) {
  if (Status status = validate(params); !status) return status;
  const auto code = driver->tensor_map_encode_tiled(
      &map, static_cast<int>(params.type), params.rank, reinterpret_cast<void*>(params.address), params.dims.data(),
      params.strides.data(), params.box.data(), params.element_strides.data(), static_cast<int>(params.interleave),
      static_cast<int>(params.swizzle), params.l2_promotion, static_cast<int>(params.fill));
  return driver.check(code, "cuTensorMapEncodeTiled");
}

}  // namespace mlaindex
