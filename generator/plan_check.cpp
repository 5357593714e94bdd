// What a plan must respect before a kernel is written from it.
#include <bit>

#include "generator/base/format.h"
#include "generator/plan.h"

namespace mlaindex {
namespace {

Error refused(const Plan& plan, std::string what, std::string limit) {
  return {ErrorCode::unsupported_shape, fmt::format("plan '{}' {}", plan.name, what), std::move(limit)};
}

Status check_mma(const Plan& plan, Arch arch) {
  const bool m_ok = plan.mma_m == 64 || (arch == Arch::sm_100a && plan.mma_m == 128);
  const int n_step = arch == Arch::sm_100a ? 16 : 8;
  const bool n_ok = plan.mma_n >= n_step && plan.mma_n <= 256 && plan.mma_n % n_step == 0;
  if (m_ok && n_ok && plan.mma_k == 32) return {};
  return refused(plan, fmt::format("uses an MMA of {} x {} x {}", plan.mma_m, plan.mma_n, plan.mma_k),
                 arch == Arch::sm_90a ? "wgmma on e4m3 has M 64, N 8 to 256 in steps of 8, K 32"
                                      : "tcgen05.mma on e4m3 has M 64 or 128, N 16 to 256 in steps of 16, K 32");
}

Status check_boxes(const Plan& plan) {
  constexpr int max_box = 256;
  if (plan.tile_keys <= max_box && plan.padded_heads <= max_box && plan.mma_n % plan.padded_heads == 0) return {};
  return refused(plan, fmt::format("copies boxes of {} keys and {} heads", plan.tile_keys, plan.padded_heads),
                 fmt::format("a TMA box has at most {} elements a dimension, and the {} columns of an MMA hold whole tokens",
                             max_box, plan.mma_n));
}

Status check_shared(const Plan& plan, const ArchLimits& limits) {
  int end = 0;
  for (const SharedRegion& region : plan.shared) {
    if (region.offset < end) {
      return refused(plan, fmt::format("overlaps shared region '{}' with the one before it", region.name),
                     "regions are listed in order and do not overlap");
    }
    end = region.offset + region.bytes;
  }
  const int available = limits.shared_bytes_per_sm / plan.ctas_per_sm - limits.reserved_shared_bytes;
  const int most = available < limits.shared_bytes_per_cta ? available : limits.shared_bytes_per_cta;
  if (end <= most) return {};
  return refused(plan, fmt::format("needs {} bytes of shared memory a CTA", end),
                 fmt::format("at {} CTA(s) an SM there are {}", plan.ctas_per_sm, most));
}

Status check_tensor_memory(const Plan& plan, const ArchLimits& limits) {
  const int columns = plan.tensor_memory_columns;
  if (columns == 0 && plan.tensor_memory.empty()) return {};
  if (columns < 32 || !std::has_single_bit(static_cast<unsigned>(columns)) ||
      columns * plan.ctas_per_sm > limits.tensor_memory_columns) {
    return refused(plan, fmt::format("allocates {} tensor memory columns at {} CTA(s) an SM", columns, plan.ctas_per_sm),
                   fmt::format("an SM has {}; an allocation is a power of two of at least 32", limits.tensor_memory_columns));
  }
  for (const TensorMemoryRegion& region : plan.tensor_memory) {
    if (region.first_column + region.num_columns > columns) {
      return refused(plan, fmt::format("puts '{}' past its {} tensor memory columns", region.name, columns),
                     "every region lies inside the allocation");
    }
  }
  return {};
}

Status check_registers(const Plan& plan, const ArchLimits& limits) {
  if (plan.num_threads % 128 != 0 || plan.num_threads > limits.max_threads_per_cta) {
    return refused(plan, fmt::format("has {} threads", plan.num_threads),
                   fmt::format("allowed: whole warpgroups of 128, at most {}", limits.max_threads_per_cta));
  }
  int granted = 0;
  int next_warp = 0;
  int warpgroup_registers = 0;
  for (const WarpRole& role : plan.roles) {
    if (role.first_warp != next_warp) {
      return refused(plan, fmt::format("leaves a gap before warp role '{}'", role.name), "roles cover the warps in order");
    }
    for (int warp = role.first_warp; warp < role.first_warp + role.num_warps; ++warp) {
      if (warp % 4 == 0) warpgroup_registers = role.registers;
      if (role.registers != warpgroup_registers) {
        return refused(plan, fmt::format("gives role '{}' {} registers inside a warpgroup that has {}", role.name,
                                         role.registers, warpgroup_registers),
                       "setmaxnreg holds for whole warpgroups");
      }
    }
    const bool reallocated = role.registers != plan.entry_registers;
    if (reallocated && (role.registers % 8 != 0 || role.registers < 24 || role.registers > 256)) {
      return refused(plan, fmt::format("gives role '{}' {} registers", role.name, role.registers),
                     "setmaxnreg takes multiples of 8 from 24 to 256");
    }
    granted += 32 * role.num_warps * role.registers;
    next_warp = role.first_warp + role.num_warps;
  }
  if (next_warp * 32 != plan.num_threads) {
    return refused(plan, fmt::format("has roles for {} warps and {} threads", next_warp, plan.num_threads),
                   "every warp has a role");
  }
  const int pool = plan.entry_registers * plan.num_threads;
  if (granted > pool || pool * plan.ctas_per_sm > limits.registers_per_sm) {
    return refused(plan, fmt::format("grants {} registers from a pool of {} at {} CTA(s) an SM", granted, pool,
                                     plan.ctas_per_sm),
                   fmt::format("grants fit the pool, and the pools of an SM its {} registers", limits.registers_per_sm));
  }
  return {};
}

}  // namespace

Status check_plan(const Plan& plan, Arch arch) {
  const ArchLimits& limits = arch_limits(arch);
  for (Status status : {check_mma(plan, arch), check_boxes(plan), check_shared(plan, limits),
                        check_tensor_memory(plan, limits), check_registers(plan, limits)}) {
    if (!status) return status;
  }
  return {};
}

}  // namespace mlaindex
