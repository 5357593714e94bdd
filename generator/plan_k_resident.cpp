// Plans for many tokens against few contiguous keys, which stay while token blocks stream past them.
#include "generator/base/format.h"
#include "generator/plan_parts.h"

namespace mlaindex {
namespace {

// The swizzled part of shared memory: the ring of token blocks, `columns` each, and the keys that stay.
void append_operands(Plan& plan, const Spec& spec, int columns) {
  append(plan, "q", plan.block_stages * columns * spec.depth, swizzle_alignment,
         fmt::format("{} token blocks of {} columns x {} bytes, swizzled", plan.block_stages, columns, spec.depth));
  append(plan, "keys", plan.key_stages * plan.tile_keys * spec.depth, swizzle_alignment,
         fmt::format("{} x {} keys x {} bytes, swizzled", plan.key_stages, plan.tile_keys, spec.depth));
}

}  // namespace

// Roles, columns and registers of sm90_q_resident: a score has the same bits.
Plan sm90_k_resident(const Spec& spec) {
  Plan plan;
  plan.name = plan.family = "k_resident";
  plan.template_path = "sm90/k_resident.cu";
  plan.why =
      "256 keys stay while token blocks stream past them: nothing is counted before the first copy, and one warpgroup "
      "starts on a block while others score theirs";
  plan.column_order = ColumnOrder::head_pair_major;
  plan.padded_heads = padded_heads(spec.num_heads);
  const bool many_heads = plan.padded_heads >= 64;
  const int math_warpgroups = many_heads ? 2 : 4;
  const int math_warps = 4 * math_warpgroups;
  const int producer_registers = many_heads ? 40 : 32;
  plan.mma_m = plan.tile_keys = 64;
  plan.mma_n = 128;
  plan.mma_k = 32;
  plan.accumulator_stages = plan.column_groups = 4 / math_warpgroups;
  plan.tokens_per_block = plan.column_groups * plan.mma_n / plan.padded_heads;
  plan.tokens_per_box = plan.padded_heads > 64 ? 2 : 4;
  plan.key_stages = 4;
  plan.block_stages = 2 * math_warpgroups;
  plan.persistent = true;
  plan.num_threads = 128 * (math_warpgroups + 1);
  plan.ctas_per_sm = 1;
  plan.entry_registers = many_heads ? 168 : 96;
  plan.roles = {{"math: wgmma, fold, store", 0, math_warps, many_heads ? 232 : 112},
                {"TMA producer", math_warps, 1, producer_registers},
                {"scheduler", math_warps + 1, 1, producer_registers},
                {"q_scale", math_warps + 2, 1, producer_registers},
                {"-inf fill", math_warps + 3, 1, producer_registers}};
  append_operands(plan, spec, plan.column_groups * plan.mma_n);
  append(plan, "blocks", plan.block_stages * block_bytes(plan, plan.tokens_per_block * (plan.padded_heads + 4)), 16,
         fmt::format("{} token blocks: their key tiles, visible ranges and q_scale", plan.block_stages));
  append(plan, "barriers", (plan.key_stages + 4 * plan.block_stages) * barrier_bytes, 8,
         "key full; of each block: work, weights and Q full, empty");
  return plan;
}

// Roles, columns and registers of sm100_q_resident: a score has the same bits. Q of four blocks is on its way or in use,
// because a block that sees one subtile is folded in less time than its Q takes to come.
Plan sm100_k_resident(const Spec& spec) {
  Plan plan;
  plan.name = plan.family = "k_resident";
  plan.template_path = "sm100/k_resident.cu";
  plan.why =
      "512 keys stay while token blocks stream past them: nothing is counted before the first copy, and the MMAs of a "
      "block start while the one before is folded";
  plan.column_order = ColumnOrder::head_major;
  plan.padded_heads = padded_heads(spec.num_heads);
  plan.column_groups = 2;
  plan.mma_m = plan.tile_keys = 128;
  plan.mma_n = 256;
  plan.mma_k = 32;
  plan.tokens_per_box = plan.mma_n / plan.column_groups / plan.padded_heads;
  plan.tokens_per_block = plan.column_groups * plan.tokens_per_box;
  plan.key_stages = 4;
  plan.block_stages = 4;
  allocate_accumulators(plan);
  plan.persistent = true;
  plan.num_threads = 384;
  plan.ctas_per_sm = 1;
  plan.entry_registers = 168;
  plan.roles = {{"math: fold, store", 0, 8, 232},
                {"TMA producer, q_scale", 8, 1, 40},
                {"MMA issue, tensor memory", 9, 1, 40},
                {"scheduler", 10, 1, 40},
                {"-inf fill", 11, 1, 40}};
  append_operands(plan, spec, plan.mma_n);
  append(plan, "blocks", plan.block_stages * block_bytes(plan, plan.mma_n), 16,
         fmt::format("{} token blocks: their key tiles, visible ranges and half of q_scale", plan.block_stages));
  append(plan, "barriers", (plan.key_stages + 2 * plan.accumulator_stages + 4 * plan.block_stages) * barrier_bytes, 8,
         "key full, accumulator full and empty; of each block: work, weights and Q full, empty");
  append(plan, "tensor_memory_slot", 4, 8, "address of the allocation");
  return plan;
}

}  // namespace mlaindex
