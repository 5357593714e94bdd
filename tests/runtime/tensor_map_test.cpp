#include "runtime/tensor_map.h"

#include <algorithm>

#include <catch2/catch.hpp>

namespace mlaindex {
namespace {

struct Case {
  Spec spec;
  const char* plan;
};

const Case cases[] = {{{.arch = Arch::sm_100a, .num_heads = 1, .depth = 64}, "q_resident"},
                      {{.arch = Arch::sm_100a, .num_heads = 128}, "seed"}};

}  // namespace

TEST_CASE("a box of q is one 128-row operand tile, and reaches every head and token", "[tensor_map]") {
  for (const auto& [spec, name] : cases) {
    const auto plan = make_plan(spec, name);
    REQUIRE(plan.ok());
    const TensorMapParams map = q_map_params(spec, *plan, 0x1000, 77);
    CHECK(validate(map).ok());
    CHECK(box_bytes(map) == static_cast<std::uint64_t>(128 * spec.depth));
    const bool head_major = plan->column_order == ColumnOrder::head_major;
    const std::size_t token = head_major ? 1 : 2;
    const std::size_t head = head_major ? 2 : 1;
    CHECK(map.dims[0] == static_cast<std::uint64_t>(spec.depth));
    CHECK(map.dims[token] == 77);
    CHECK(map.dims[head] == static_cast<std::uint64_t>(spec.num_heads));
    CHECK(map.strides[token - 1] == static_cast<std::uint64_t>(spec.num_heads * spec.depth));
    CHECK(map.strides[head - 1] == static_cast<std::uint64_t>(spec.depth));
    CHECK(map.box[head] == static_cast<std::uint32_t>(plan->padded_heads));
    CHECK(static_cast<int>(map.box[token]) * plan->column_groups == plan->tokens_per_block);
  }
}

TEST_CASE("boxes of head pairs: an even number of heads in one box, an odd one a box a pair", "[tensor_map]") {
  for (const int num_heads : {1, 2, 12, 31, 64, 65, 127, 128}) {
    INFO(num_heads);
    const Spec spec{.arch = Arch::sm_90a, .num_heads = num_heads};
    const auto plan = make_plan(spec, "q_resident");
    REQUIRE(plan.ok());
    const TensorMapParams map = q_map_params(spec, *plan, 0x1000, 77);
    CHECK(validate(map).ok());
    const auto tokens = static_cast<std::uint32_t>(num_heads > 64 ? 2 : 4);
    const auto heads = static_cast<std::uint64_t>(num_heads);
    const auto padded = static_cast<std::uint32_t>(plan->padded_heads);
    if (num_heads % 2 == 0) {
      CHECK(map.rank == 4);
      CHECK(map.dims == std::array<std::uint64_t, 5>{128, 2, 77, heads / 2, 0});
      CHECK(map.strides == std::array<std::uint64_t, 4>{128, 128 * heads, 256, 0});
      CHECK(map.box == std::array<std::uint32_t, 5>{128, 2, tokens, padded / 2, 0});
    } else {
      CHECK(map.rank == 3);
      CHECK(map.dims == std::array<std::uint64_t, 5>{128, heads, 77, 0, 0});
      CHECK(map.strides == std::array<std::uint64_t, 4>{128, 128 * heads, 0, 0});
      CHECK(map.box == std::array<std::uint32_t, 5>{128, 2, tokens, 0, 0});
    }
  }
}

TEST_CASE("a box of k is a ring stage, its swizzle as wide as a key", "[tensor_map]") {
  const TensorMapSwizzle swizzles[] = {TensorMapSwizzle::b32, TensorMapSwizzle::b64, TensorMapSwizzle::b128};
  for (int i = 0; i < 3; ++i) {
    const Spec spec{.depth = 32 << i};
    const auto plan = make_plan(spec, "q_resident");
    REQUIRE(plan.ok());
    const TensorMapParams map = k_map_params(spec, *plan, 0x2000, 2147483647);
    CHECK(validate(map).ok());
    CHECK(map.swizzle == swizzles[i]);
    CHECK(map.dims[1] == 2147483647);
    CHECK(box_bytes(map) == static_cast<std::uint64_t>(plan->tile_keys * spec.depth));
  }
}

TEST_CASE("boxes of pages are what a tile takes of one page, keys and scales alike", "[tensor_map]") {
  for (int page_size : {16, 64, 256}) {
    const Spec spec{.mask = Mask::context, .layout = Layout::paged, .page_size = page_size};
    const auto plan = make_plan(spec, "paged");
    REQUIRE(plan.ok());
    const std::int64_t stride = page_size * (spec.depth + 4) + 16;
    const auto rows = static_cast<std::uint32_t>(std::min(page_size, plan->tile_keys));
    const TensorMapParams keys = page_map_params(spec, *plan, 0x4000, 1000, stride);
    CHECK(validate(keys).ok());
    CHECK(keys.rank == 3);
    CHECK(keys.dims[1] == static_cast<std::uint64_t>(page_size));
    CHECK(keys.dims[2] == 1000);
    CHECK(keys.strides[1] == static_cast<std::uint64_t>(stride));
    CHECK(keys.box[1] == rows);
    const TensorMapParams scales = k_scale_page_map_params(spec, *plan, 0x8000, 77, stride);
    CHECK(validate(scales).ok());
    CHECK(scales.dims[0] == static_cast<std::uint64_t>(page_size));
    CHECK(scales.dims[1] == 77);
    CHECK(scales.box[0] == rows);
    CHECK(box_bytes(scales) == 4 * rows);
  }
}

}  // namespace mlaindex
