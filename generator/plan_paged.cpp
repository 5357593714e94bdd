// Plans for keys in pages: the tokens of one request against its own keys.
#include <algorithm>

#include "generator/base/format.h"
#include "generator/plan_parts.h"

namespace mlaindex {
namespace {

// Of a block that the producer of sm90/paged.cu hands on: work and q_scale.
int block_bytes(const Plan& plan) noexcept { return 32 + 4 * plan.tokens_per_block * (plan.padded_heads + 8); }

struct Shape {
  int mma_n;
  int column_groups;
  int math_warpgroups;
  int key_stages;
};

Plan paged(const Spec& spec, const Shape& shape) {
  const auto& [mma_n, column_groups, math_warpgroups, key_stages] = shape;
  const int math_warps = 4 * math_warpgroups;
  const int math_registers = 112;
  const int producer_registers = 32;
  Plan plan;
  plan.family = "paged";
  plan.template_path = "sm90/paged.cu";
  plan.column_order = ColumnOrder::token_major;
  plan.padded_heads = std::max(8, padded_heads(spec.num_heads));  // a quad folds whole groups of 8 heads
  plan.mma_m = plan.tile_keys = 64;
  plan.mma_n = mma_n;
  plan.mma_k = 32;
  plan.column_groups = column_groups;
  plan.tokens_per_box = mma_n / plan.padded_heads;
  plan.tokens_per_block = column_groups * plan.tokens_per_box;
  plan.key_stages = key_stages;
  plan.accumulator_stages = 1;
  plan.k_scale_by_tma = true;
  plan.persistent = true;
  plan.num_threads = 32 * (math_warps + 4);
  plan.ctas_per_sm = 1;
  plan.entry_registers = 96;
  plan.roles = {{"math: wgmma, fold, store", 0, math_warps, math_registers},
                {"TMA of keys", math_warps, 1, producer_registers},
                {"TMA of k_scale", math_warps + 1, 1, producer_registers},
                {"schedule, Q and q_scale", math_warps + 2, 1, producer_registers},
                {"-inf fill", math_warps + 3, 1, producer_registers}};
  append(plan, "q", 2 * column_groups * mma_n * spec.depth, swizzle_alignment,
         fmt::format("2 token blocks of {} columns x {} bytes, swizzled", column_groups * mma_n, spec.depth));
  append_keys(plan, spec);
  append_k_scale(plan, spec);
  append(plan, "blocks", 2 * block_bytes(plan), 16, "2 token blocks: their key tiles and q_scale");
  append(plan, "units", 4 * 256, 16, "key tiles of 256 runs of blocks");
  append(plan, "works", 3 * 32 * 32, 16, "the tiles of 32 blocks, for each producer");
  append(plan, "barriers", (2 * key_stages + 8) * barrier_bytes, 8,
         "key full and empty; of each block: work, weights and Q full, empty");
  return plan;
}

}  // namespace

void append_k_scale(Plan& plan, const Spec& spec) {
  const int box_keys = std::min(spec.page_size, plan.tile_keys);
  const int stage_bytes = 4 * plan.tile_keys / box_keys * std::max(box_keys, 32);
  append(plan, "k_scale", plan.key_stages * stage_bytes, 128, fmt::format("{} stages of {} f32", plan.key_stages, plan.tile_keys));
}

Plan sm90_paged(const Spec& spec) {
  Plan plan = paged(spec, {128, 4, 4, 8});
  plan.name = "paged";
  plan.why =
      "all tokens of a request stay resident, so each of its pages is read once, in place; every CTA gets "
      "an equal share of all key tiles";
  return plan;
}

Plan sm90_paged_narrow(const Spec& spec) {
  Plan plan = paged(spec, {64, 1, 4, 16});
  plan.name = "paged_narrow";
  plan.why =
      "64 columns hold the tokens of a decode step: half the matrix work of 'paged', and a ring deep enough "
      "for the memory's latency";
  return plan;
}

Plan sm90_paged_deep(const Spec& spec) {
  Plan plan = paged(spec, {128, 2, 4, 16});
  plan.name = "paged_deep";
  plan.why =
      "256 columns hold the tokens of a short speculative step; half the Q of 'paged' leaves room for twice its "
      "ring";
  return plan;
}

}  // namespace mlaindex
