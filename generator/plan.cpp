#include "generator/base/format.h"
#include "generator/plan_parts.h"

namespace mlaindex {
namespace {

constexpr int columns_per_group = 128;  // the heads of 128 / padded_heads tokens, of which an MMA takes one group or more
constexpr int range_bytes = 8;          // VisibleRange: two i32
constexpr int units_bytes = 4 * 256;    // SCHEDULE_UNITS of common/work_schedule.cuh

Plan common_plan(const Spec& spec) {
  Plan plan;
  plan.family = "q_resident";
  plan.padded_heads = padded_heads(spec.num_heads);
  plan.mma_n = columns_per_group;
  plan.mma_k = 32;
  return plan;
}

// The Q tile and the key ring, the swizzled part that a plan of one tile starts with.
void append_operands(Plan& plan, const Spec& spec) {
  append(plan, "q", columns_per_group * spec.depth, swizzle_alignment,
         fmt::format("{} columns x {} bytes, swizzled", columns_per_group, spec.depth));
  append_keys(plan, spec);
}

void append_weights(Plan& plan, std::string contents) {
  append(plan, "weights", plan.column_groups * columns_per_group * 4, 16, std::move(contents));
}

// Few heads: a lane's 64 accumulators are whole tokens, and four warpgroups hide each other's folds.
// Many heads: a token needs 128 accumulators a lane, which leaves registers for two warpgroups.
Plan sm90_q_resident(const Spec& spec) {
  Plan plan = common_plan(spec);
  const bool many_heads = plan.padded_heads >= 64;
  const int math_warpgroups = many_heads ? 2 : 4;
  plan.name = "q_resident";
  plan.template_path = "sm90/q_resident.cu";
  plan.why =
      "512 resident columns read each key tile once; a lane folds whole tokens, so the head sum needs "
      "no shuffle; every CTA gets an equal share of all key tiles";
  plan.column_order = ColumnOrder::head_pair_major;
  plan.column_groups = 4;
  plan.accumulator_stages = plan.column_groups / math_warpgroups;
  plan.q_barriers = math_warpgroups;
  plan.tokens_per_block = plan.column_groups * columns_per_group / plan.padded_heads;
  plan.tokens_per_box = plan.padded_heads > 64 ? 2 : 4;
  plan.tile_keys = plan.mma_m = 64;
  plan.key_stages = 8;
  plan.persistent = true;
  plan.num_threads = 128 * (math_warpgroups + 1);
  plan.ctas_per_sm = 1;
  plan.entry_registers = many_heads ? 168 : 96;
  const int math_warps = 4 * math_warpgroups;
  const int producer_registers = many_heads ? 40 : 32;
  plan.roles = {{"math: wgmma, fold, store", 0, math_warps, many_heads ? 232 : 112},
                {"TMA producer", math_warps, 1, producer_registers},
                {"scheduler", math_warps + 1, 1, producer_registers},
                {"q_scale", math_warps + 2, 1, producer_registers},
                {"-inf fill", math_warps + 3, 1, producer_registers}};
  append(plan, "q", 2 * plan.column_groups * columns_per_group * spec.depth, swizzle_alignment,
         fmt::format("2 token blocks of {} columns x {} bytes, swizzled", plan.column_groups * columns_per_group, spec.depth));
  append_keys(plan, spec);
  append(plan, "blocks", 2 * block_bytes(plan, plan.tokens_per_block * (plan.padded_heads + 4)), 16,
         "2 token blocks: their key tiles, visible ranges and q_scale");
  append(plan, "units", units_bytes, 16, "key tiles of 256 runs of tokens");
  append(plan, "barriers", (2 * plan.key_stages + 6 + 2 * plan.q_barriers) * barrier_bytes, 8,
         "key full and empty; of each block: work, weights and Q full, empty");
  return plan;
}

void append_bookkeeping(Plan& plan) {
  append(plan, "ranges", plan.tokens_per_block * range_bytes, 16, "visible [begin, end) of each token");
  append(plan, "barriers", (2 * plan.key_stages + 2 * plan.accumulator_stages + 1) * barrier_bytes, 8,
         "key full and empty, accumulator full and empty, Q full");
  append(plan, "tensor_memory_slot", 4, 8, "address of the allocation");
}

// 256 columns make the widest MMA: each tile is read for twice the tokens. A tile is two MMAs, each with an
// accumulator of its own, and what a tile costs besides its fold is paid once for both.
Plan sm100_q_resident(const Spec& spec) {
  Plan plan = common_plan(spec);
  plan.name = "q_resident";
  plan.template_path = "sm100/q_resident.cu";
  plan.why =
      "one thread owns a key, so the head sum needs no shuffle and folds two columns an instruction; "
      "every CTA gets an equal share of all key tiles";
  plan.column_order = ColumnOrder::head_major;
  plan.column_groups = 2;
  plan.tokens_per_box = columns_per_group / plan.padded_heads;
  plan.tokens_per_block = plan.column_groups * plan.tokens_per_box;
  plan.tile_keys = 256;
  plan.mma_m = 128;
  plan.mma_n = plan.column_groups * columns_per_group;
  plan.key_stages = 4;
  allocate_accumulators(plan);
  plan.persistent = true;
  plan.num_threads = 384;
  plan.ctas_per_sm = 1;
  plan.entry_registers = 168;
  plan.roles = {{"math: fold, store", 0, 8, 232},
                {"TMA producer", 8, 1, 40},
                {"MMA issue, tensor memory", 9, 1, 40},
                {"scheduler, q_scale", 10, 1, 40},
                {"-inf fill", 11, 1, 40}};
  append(plan, "q", 2 * plan.mma_n * spec.depth, swizzle_alignment,
         fmt::format("2 token blocks of {} columns x {} bytes, swizzled", plan.mma_n, spec.depth));
  append_keys(plan, spec);
  append(plan, "blocks", 2 * block_bytes(plan, plan.mma_n), 16,
         "2 token blocks: their key tiles, visible ranges and half of q_scale");
  append(plan, "units", units_bytes, 16, "key tiles of 256 runs of tokens");
  append(plan, "barriers", (2 * plan.key_stages + 2 * plan.accumulator_stages + 8) * barrier_bytes, 8,
         "key full and empty, accumulator full and empty; of each block: work, weights and Q full, empty");
  append(plan, "tensor_memory_slot", 4, 8, "address of the allocation");
  return plan;
}

Plan sm100_seed(const Spec& spec) {
  Plan plan = common_plan(spec);
  plan.name = "seed";
  plan.template_path = "sm100/seed.cu";
  plan.why =
      "the first plan of the project, the yardstick of later ones: 64-key tiles, an 8-deep ring, "
      "k_scale gathered from global memory";
  plan.column_order = ColumnOrder::head_major;
  plan.column_groups = 1;
  plan.tokens_per_block = plan.tokens_per_box = columns_per_group / plan.padded_heads;
  plan.tile_keys = plan.mma_m = 64;
  plan.key_stages = 8;
  allocate_accumulators(plan);
  plan.num_threads = 256;
  plan.ctas_per_sm = 1;
  plan.entry_registers = 255;
  plan.roles = {{"math: fold, store", 0, 4, 255},
                {"MMA issue, tensor memory", 4, 1, 255},
                {"TMA producer", 5, 1, 255},
                {"-inf fill", 6, 2, 255}};
  append_operands(plan, spec);
  append_weights(plan, "q_scale, by column");
  append_bookkeeping(plan);
  return plan;
}

struct NamedPlan {
  Arch arch;
  Layout layout;
  const char* name;
  int max_heads;
  bool routable;  // else it is kept to compare others with, and made only when named
  Plan (*make)(const Spec&);
  bool folds_bf16 = false;
  bool one_request = false;  // routable for the tokens of one request only
};

constexpr NamedPlan named_plans[] = {
    {Arch::sm_90a, Layout::contiguous, "q_resident", max_num_heads, true, sm90_q_resident, true},
    {Arch::sm_90a, Layout::contiguous, "k_resident", max_num_heads, true, sm90_k_resident, true, true},
    {Arch::sm_90a, Layout::paged, "paged", max_num_heads, true, sm90_paged, true},
    {Arch::sm_90a, Layout::paged, "paged_narrow", 64, true, sm90_paged_narrow, true},
    {Arch::sm_90a, Layout::paged, "paged_deep", max_num_heads, true, sm90_paged_deep, true},
    {Arch::sm_100a, Layout::contiguous, "q_resident", max_num_heads, true, sm100_q_resident, true},
    {Arch::sm_100a, Layout::contiguous, "k_resident", max_num_heads, true, sm100_k_resident, true, true},
    {Arch::sm_100a, Layout::contiguous, "seed", max_num_heads, false, sm100_seed},
    {Arch::sm_100a, Layout::paged, "paged", max_num_heads, true, sm100_paged, true}};

}  // namespace

int block_bytes(const Plan& plan, int num_weights) noexcept {
  const int ranges = (plan.tokens_per_block * range_bytes + 15) / 16 * 16;
  return 16 + ranges + 4 * num_weights;
}

void allocate_accumulators(Plan& plan) {
  plan.accumulator_stages = 2;
  plan.tensor_memory_columns = plan.accumulator_stages * plan.mma_n;
  for (int stage = 0; stage < plan.accumulator_stages; ++stage) {
    plan.tensor_memory.push_back({fmt::format("accumulator {}", stage), stage * plan.mma_n, plan.mma_n});
  }
}

void append(Plan& plan, std::string name, int bytes, int alignment, std::string contents) {
  const int offset = (plan.shared_bytes() + alignment - 1) / alignment * alignment;
  plan.shared.push_back({std::move(name), offset, bytes, std::move(contents)});
}

void append_keys(Plan& plan, const Spec& spec) {
  append(plan, "keys", plan.key_stages * plan.tile_keys * spec.depth, swizzle_alignment,
         fmt::format("{} stages of {} keys x {} bytes, swizzled", plan.key_stages, plan.tile_keys, spec.depth));
}

int Plan::shared_bytes() const noexcept {
  return shared.empty() ? 0 : shared.back().offset + shared.back().bytes;
}

const SharedRegion* Plan::region(std::string_view region_name) const noexcept {
  for (const SharedRegion& candidate : shared) {
    if (candidate.name == region_name) return &candidate;
  }
  return nullptr;
}

std::vector<std::string> plan_names(Arch arch, Layout layout) {
  std::vector<std::string> names;
  for (const NamedPlan& plan : named_plans) {
    if (plan.arch == arch && plan.layout == layout) names.push_back(plan.name);
  }
  return names;
}

std::vector<std::string_view> routable_plans(Arch arch, Layout layout) {
  std::vector<std::string_view> names;
  for (const NamedPlan& plan : named_plans) {
    if (plan.arch == arch && plan.layout == layout && plan.routable) names.push_back(plan.name);
  }
  return names;
}

std::vector<std::string_view> routable_plans(const Spec& spec, int num_requests) {
  std::vector<std::string_view> names;
  for (const NamedPlan& plan : named_plans) {
    if (plan.arch != spec.arch || plan.layout != spec.layout || !plan.routable) continue;
    if (plan.one_request && (num_requests > 1 || spec.mask == Mask::ranges)) continue;
    if (spec.num_heads <= plan.max_heads && (spec.fold == FoldType::f32 || plan.folds_bf16)) names.push_back(plan.name);
  }
  return names;
}

Result<Plan> make_plan(const Spec& spec, std::string_view name) {
  if (Status valid = validate(spec); !valid) return valid.error();
  const std::vector<std::string> names = plan_names(spec.arch, spec.layout);
  for (const NamedPlan& plan : named_plans) {
    if (plan.arch != spec.arch || plan.layout != spec.layout || plan.name != name) continue;
    if (spec.fold == FoldType::bf16 && !plan.folds_bf16) {
      return Error{ErrorCode::unsupported_shape, fmt::format("plan '{}' of {} with fold = bf16", name, arch_name(spec.arch)),
                   fmt::format("its fold is f32; plans: {}", fmt::join(names, ", "))};
    }
    if (spec.num_heads <= plan.max_heads) return plan.make(spec);
    return Error{ErrorCode::unsupported_shape, fmt::format("plan '{}' with num_heads = {}", name, spec.num_heads),
                 fmt::format("allowed: up to {}; plans: {}", plan.max_heads, fmt::join(names, ", "))};
  }
  return Error{ErrorCode::invalid_argument,
               fmt::format("no plan '{}' for {} and {} keys", name, arch_name(spec.arch), layout_name(spec.layout)),
               fmt::format("allowed: {}", fmt::join(names, ", "))};
}

std::vector<BarrierGroup> barrier_groups(const Plan& plan) {
  const SharedRegion* region = plan.region("barriers");
  if (region == nullptr) return {};
  std::vector<BarrierGroup> groups;
  auto offset = static_cast<std::uint32_t>(region->offset);
  const auto add = [&](const char* name, int count) {
    groups.push_back({name, offset, static_cast<std::uint32_t>(count)});
    offset += static_cast<std::uint32_t>(count * barrier_bytes);
  };
  add("key_full", plan.key_stages);
  if (plan.family != "k_resident") add("key_empty", plan.key_stages);
  if (plan.tensor_memory_columns > 0) {
    add("accumulator_full", plan.accumulator_stages);
    add("accumulator_empty", plan.accumulator_stages);
  }
  if (!plan.persistent) {
    add("q_full", 1);
    return groups;
  }
  add("work_full", plan.block_stages);
  add("weights_full", plan.block_stages);
  add("q_full", plan.block_stages * plan.q_barriers);
  add("block_empty", plan.block_stages);
  return groups;
}

std::string kernel_name(const Spec& spec, const Plan& plan) {
  return fmt::format("mlaindex_score_{}_{}_h{}_d{}{}_{}_{}{}{}", arch_name(spec.arch), plan.name, spec.num_heads,
                     spec.depth, spec.layout == Layout::paged ? fmt::format("_p{}", spec.page_size) : "", mask_name(spec.mask), score_type_name(spec.score_type),
                     spec.fill == Fill::none ? "" : "_filled", spec.fold == FoldType::f32 ? "" : "_bf16_fold");
}

}  // namespace mlaindex
