#include "generator/explain.h"

#include "generator/base/format.h"

namespace mlaindex {

namespace {

std::string_view column_order_text(ColumnOrder order) {
  switch (order) {
    case ColumnOrder::head_major: return "heads outermost";
    case ColumnOrder::token_major: return "tokens outermost";
    case ColumnOrder::head_pair_major: return "pairs of heads outermost, so that a lane meets one token";
  }
  return "";
}

}  // namespace

std::string explain(const Spec& spec, const Plan& plan) {
  const ArchLimits& limits = arch_limits(spec.arch);
  const bool keys_stay = plan.family == "k_resident";
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format("{:<10} {}\n", label, value);
  };

  line("spec", to_string(spec));
  line("plan", fmt::format("{}: {}", plan.name, plan.why));
  line("kernel", kernel_name(spec, plan));
  text += '\n';
  line("tile", fmt::format("{} keys x {} columns, {} bytes deep: {} MMA step(s) of {} x {} x {}", plan.mma_m, plan.mma_n,
                           spec.depth, spec.depth / plan.mma_k, plan.mma_m, plan.mma_n, plan.mma_k));
  line("columns", fmt::format("{} token(s) x {} heads{}, {}", plan.tokens_per_box, plan.padded_heads,
                              plan.padded_heads == spec.num_heads
                                  ? ""
                                  : fmt::format(" ({} and {} of zero weight)", spec.num_heads,
                                                plan.padded_heads - spec.num_heads),
                              column_order_text(plan.column_order)));
  line("block", fmt::format("{} token(s) in {} group(s) of columns; grid: {}", plan.tokens_per_block, plan.column_groups,
                            !plan.persistent ? "token blocks x key parts"
                            : keys_stay      ? "a CTA for every slot of the GPU, each a tile of keys and a part of the blocks"
                                             : "a CTA for every slot of the GPU, equal shares of all key tiles"));
  if (spec.fold == FoldType::bf16) {
    line("fold", fmt::format("bf16: relu, weights and runs of up to {} products; f32: the sum of runs", bf16_run));
  }
  line("ring", fmt::format("{} stages of {}; k_scale {}", keys_stay ? plan.block_stages : plan.key_stages,
                           keys_stay ? "a token block" : fmt::format("{} keys", plan.tile_keys),
                           plan.k_scale_by_tma ? "travels with the keys" : "read from global memory"));
  line("threads", fmt::format("{} a CTA, {} CTA(s) an SM, {} registers at entry", plan.num_threads, plan.ctas_per_sm,
                              plan.entry_registers));
  for (const WarpRole& role : plan.roles) {
    const std::string warps = role.num_warps == 1
                                  ? fmt::format("warp {}", role.first_warp)
                                  : fmt::format("warps {}-{}", role.first_warp, role.first_warp + role.num_warps - 1);
    const bool idle = role.name == "-inf fill" && spec.fill == Fill::none;
    line("", fmt::format("{:<12} {:>3} registers  {}", warps, role.registers, idle ? "idle (no fill asked)" : role.name));
  }
  line("shared", fmt::format("{} bytes of {}", plan.shared_bytes(), limits.shared_bytes_per_cta));
  for (const SharedRegion& region : plan.shared) {
    line("", fmt::format("{:>6} +{:<6} {}: {}", region.offset, region.bytes, region.name, region.contents));
  }
  if (plan.tensor_memory_columns > 0) {
    line("tensor", fmt::format("{} columns of {}", plan.tensor_memory_columns, limits.tensor_memory_columns));
    for (const TensorMemoryRegion& region : plan.tensor_memory) {
      line("", fmt::format("{:>6} +{:<6} {}", region.first_column, region.num_columns, region.name));
    }
  }
  return text;
}

}  // namespace mlaindex
