// How it is done: tile, warp roles, registers, shared and tensor memory of one kernel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/base/barrier_group.h"
#include "generator/base/result.h"
#include "generator/spec.h"

namespace mlaindex {

// A warp role. Registers are per thread, as granted by setmaxnreg to whole warpgroups.
struct WarpRole {
  std::string name;
  int first_warp = 0;
  int num_warps = 0;
  int registers = 0;
};

// A region of dynamic shared memory, from its start.
struct SharedRegion {
  std::string name;
  int offset = 0;
  int bytes = 0;
  std::string contents;
};

// Columns of tensor memory (sm_100a).
struct TensorMemoryRegion {
  std::string name;
  int first_column = 0;
  int num_columns = 0;
};

// How the rows of the resident Q tile are ordered.
enum class ColumnOrder {
  head_major,       // row = head * tokens + token: neighbouring columns are different tokens
  token_major,      // row = token * padded_heads + head
  head_pair_major,  // row = (head / 2 * tokens + token) * 2 + head % 2: a lane of wgmma meets one token
};

struct Plan {
  std::string name;           // "q_resident", "seed"
  std::string family;         // "q_resident", "k_resident", "paged"
  std::string template_path;  // below templates/
  std::string why;            // one sentence for a person
  ColumnOrder column_order = ColumnOrder::head_major;

  int padded_heads = 0;
  int tokens_per_block = 0;   // tokens resident in one CTA
  int tokens_per_box = 0;     // tokens of one copy of Q; what ColumnOrder calls tokens
  int column_groups = 0;      // Q tiles in one CTA, 128 columns each
  int tile_keys = 0;          // keys a ring stage holds
  int mma_m = 0, mma_n = 0, mma_k = 0;
  int key_stages = 0;         // k_resident: stages that stay, a tile of keys together
  int block_stages = 2;       // token blocks whose Q a CTA holds at a time
  int accumulator_stages = 0;   // sm_100a: of tensor memory; sm_90a: of each math warpgroup
  int q_barriers = 1;           // of one token block: its Q arrives in so many parts
  bool k_scale_by_tma = false;  // through the key ring; else read from global memory

  bool persistent = false;  // one CTA for every slot of the GPU, which share out the work; else one a token block
  int num_threads = 0;
  int ctas_per_sm = 0;
  int entry_registers = 0;  // per thread at launch; roles with another number reallocate
  std::vector<WarpRole> roles;
  std::vector<SharedRegion> shared;
  std::vector<TensorMemoryRegion> tensor_memory;
  int tensor_memory_columns = 0;  // allocated: a power of two

  int shared_bytes() const noexcept;                  // dynamic shared memory of a CTA
  const SharedRegion* region(std::string_view region_name) const noexcept;  // null: the plan has none
};

// The names of the plans of an arch for a layout, the default one first. Some take fewer heads than a spec
// may have: make_plan refuses.
std::vector<std::string> plan_names(Arch arch, Layout layout = Layout::contiguous);

// Those of them that a route may choose, the default one first; of a spec: those that make_plan does not refuse, without
// those that share out one request's tokens where there may be several requests (more than one, or visible ranges, which
// do not tell). All fold in the same order, so that the bits of a score do not depend on the choice. The names live as
// long as the program.
std::vector<std::string_view> routable_plans(Arch arch, Layout layout);
std::vector<std::string_view> routable_plans(const Spec& spec, int num_requests = 1);

// The plan of that name for a valid spec. An unknown name is invalid_argument with the allowed ones.
Result<Plan> make_plan(const Spec& spec, std::string_view name);

// Refuses a plan that cannot run: shared memory, tensor memory columns, register pool, MMA shape,
// box limits. unsupported_shape with the limit, what the plan needs and what the arch has.
Status check_plan(const Plan& plan, Arch arch);

// The mbarriers of a CTA by purpose, in the order in which they lie in the region "barriers". Offsets
// are from the start of dynamic shared memory.
std::vector<BarrierGroup> barrier_groups(const Plan& plan);

// The name of the kernel in the emitted source, its PTX and its cubin.
std::string kernel_name(const Spec& spec, const Plan& plan);

}  // namespace mlaindex
