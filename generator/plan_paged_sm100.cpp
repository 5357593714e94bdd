// The plan of sm_100a for keys in pages.
#include "generator/base/format.h"
#include "generator/plan_parts.h"

namespace mlaindex {

Plan sm100_paged(const Spec& spec) {
  Plan plan;
  plan.name = plan.family = "paged";
  plan.template_path = "sm100/paged.cu";
  plan.why =
      "one thread owns a key; a block has as many columns as its tokens need, up to 256; pages are read in "
      "place, and every CTA gets an equal share of all key tiles";
  plan.column_order = ColumnOrder::token_major;
  plan.padded_heads = padded_heads(spec.num_heads);
  plan.column_groups = 2;
  plan.tokens_per_box = 128 / plan.padded_heads;
  plan.tokens_per_block = plan.column_groups * plan.tokens_per_box;
  plan.mma_m = plan.tile_keys = 128;
  plan.mma_n = 256;
  plan.mma_k = 32;
  plan.key_stages = 8;
  plan.k_scale_by_tma = true;
  allocate_accumulators(plan);
  plan.persistent = true;
  plan.num_threads = 384;
  plan.ctas_per_sm = 1;
  plan.entry_registers = 168;
  plan.roles = {{"math: fold, store", 0, 8, 232},
                {"TMA of keys", 8, 1, 40},
                {"schedule, Q, q_scale, TMA of k_scale", 9, 1, 40},
                {"MMA issue, tensor memory", 10, 1, 40},
                {"-inf fill", 11, 1, 40}};
  append(plan, "q", 2 * plan.mma_n * spec.depth, swizzle_alignment,
         fmt::format("2 token blocks of {} columns x {} bytes, swizzled", plan.mma_n, spec.depth));
  append_keys(plan, spec);
  append_k_scale(plan, spec);
  append(plan, "blocks", 2 * (32 + 4 * plan.mma_n), 16, "2 token blocks: their key tiles and half of q_scale");
  append(plan, "units", 4 * 256, 16, "key tiles of 256 runs of blocks");
  append(plan, "works", 2 * 32 * 32, 16, "the tiles of 32 blocks, for each producer");
  append(plan, "barriers", (2 * plan.key_stages + 2 * plan.accumulator_stages + 8) * barrier_bytes, 8,
         "key full and empty, accumulator full and empty; of each block: work, weights and Q full, empty");
  append(plan, "tensor_memory_slot", 4, 8, "address of the allocation");
  return plan;
}

}  // namespace mlaindex
