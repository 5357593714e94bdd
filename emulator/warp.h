// A warp: registers of 32 lanes and fragments, the groups of lanes that run together.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "emulator/program.h"
#include "emulator/tensor_memory.h"

namespace mlaindex::emulator {

class Cta;

enum class WaitKind : std::uint8_t {
  none, lanes, mbarrier, named_barrier, cluster_barrier, tensor_loads, tensor_stores, wgmma_groups,
  bulk_groups, tensor_allocation, register_pool,
};

// What a blocked fragment waits for, for reports.
struct Wait {
  WaitKind kind = WaitKind::none;
  std::uint32_t value = 0;   // shared address of an mbarrier, barrier id, missing lanes, groups left
  std::uint32_t detail = 0;  // parity
};

// Lanes at one program counter. Each lane belongs to exactly one fragment until it exits.
struct Fragment {
  LaneMask mask = 0;
  std::uint32_t pc = 0;
  bool blocked = false;
  std::uint64_t seen = 0;        // value of the cluster's change counter when it blocked
  std::uint64_t token = 0;       // state of an instruction that arrives first and waits later
  std::uint64_t blocked_since = 0;
  std::uint64_t held_until = 0;  // fell behind: does not run before the cluster's time is this
  Wait wait;
};

// Results of an asynchronous operation that the warp has not waited for.
struct PendingRegisters {
  std::uint64_t operation = 0;
  std::vector<std::int32_t> slots;
};

// Registers of a tcgen05.ld. Compilers copy results before they wait; the copies are owed as well.
struct LoadTargets {
  struct Target {
    std::uint32_t offset = 0;    // in the register file
    std::int32_t slot = -1;
    std::uint32_t result = 0;    // which register of the instruction it holds
  };
  std::vector<Target> targets;   // the instruction's own registers first
  std::vector<LaneMask> written; // per result: lanes that came from written cells; set on completion
};

// A tcgen05.ld that was not waited for.
struct TensorLoad {
  std::uint64_t operation = 0;
  std::shared_ptr<LoadTargets> registers;
  TensorRegion region;
  std::uint32_t line = 0;

  const LoadTargets::Target* find(std::int32_t slot) const noexcept {
    for (const LoadTargets::Target& target : registers->targets)
      if (target.slot == slot) return &target;
    return nullptr;
  }
};

struct BulkGroup {
  std::vector<std::uint64_t> reads, writes;  // operations: source read, destination written
};

// Bulk stores of one lane.
struct BulkGroups {
  BulkGroup open;
  std::deque<BulkGroup> committed;
};

class Warp {
 public:
  Warp(Cta& cta, std::uint32_t index, LaneMask lanes, const Program& program);

  // Runs up to `slice` instructions. Returns how many it ran; 0 when every fragment is blocked.
  std::uint32_t run(std::uint32_t slice);

  bool runnable() const noexcept;
  // Lets lanes that fell behind go on. False if there were none.
  bool release_held() noexcept;
  bool done() const noexcept { return fragments_.empty(); }
  LaneMask live() const noexcept { return live_; }
  const std::vector<Fragment>& fragments() const noexcept { return fragments_; }

  std::byte* file() noexcept { return file_; }
  LaneMask& initialised(std::int32_t slot) noexcept { return initialised_[static_cast<std::size_t>(slot)]; }
  std::uint64_t& written_at(std::int32_t slot) noexcept { return written_at_[static_cast<std::size_t>(slot)]; }

  // A source register has lanes that are not initialised: reports why. Never fatal.
  void report_unready(const Operand& operand, LaneMask missing);

  Cta& cta;
  const std::uint32_t index;
  LaneMask carry = 0;  // carry flag of add.cc and its kin

  // When this warp last executed each kind of fence.
  std::uint64_t proxy_fence = 0, fence_after = 0, wgmma_fence = 0;

  LaneMask earlier_launches_done = 0;  // lanes that executed griddepcontrol.wait

  // tcgen05: operations of this warp's issuing thread, and loads and stores not waited for.
  std::vector<std::uint64_t> tensor_operations;
  std::uint64_t last_commit = 0;
  std::vector<TensorLoad> tensor_loads;
  std::vector<std::uint64_t> tensor_stores;

  // wgmma: operations not committed, and committed groups, oldest first.
  std::vector<PendingRegisters> wgmma_open;
  std::deque<std::vector<PendingRegisters>> wgmma_groups;
  std::uint64_t last_wgmma = 0;

  std::array<std::uint64_t, kWarpSize> cluster_generation{};  // of barrier.cluster, arrived at and not waited for
  std::vector<BulkGroups> bulk;            // per lane
  std::vector<std::byte> local;            // [lane][bytes]
  std::uint32_t registers = 0;             // per thread, as setmaxnreg left it
  const Instruction* current = nullptr;    // for reports

 private:
  std::size_t choose() noexcept;
  void let_lanes_fall_behind();
  bool ready(const Fragment& fragment) const noexcept;
  void merge(std::size_t fragment) noexcept;
  void block(Fragment& fragment);
  bool finish_step(std::size_t& fragment, Step step, const Execution& execution);

  const Program& program_;
  std::vector<std::byte> storage_;
  std::byte* file_ = nullptr;              // 64-byte aligned, inside storage_
  std::vector<LaneMask> initialised_;
  std::vector<std::uint64_t> written_at_;
  std::vector<Fragment> fragments_;
  LaneMask live_;
};

}  // namespace mlaindex::emulator
