// One cluster of CTAs: the unit that is simulated by itself, with its own schedule.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/async_queue.h"
#include "emulator/cta.h"
#include "emulator/machine.h"
#include "emulator/mma_arithmetic.h"
#include "emulator/program.h"
#include "emulator/timeline.h"

namespace mlaindex::emulator {

// What all clusters of a launch share.
struct Launch {
  const LaunchSpec& spec;
  const Program& program;
  GlobalMemory memory;                      // the caller's buffers and the module's variables
  Dim3 cluster;                             // resolved
  Dim3 cluster_grid;                        // clusters along each axis
  std::uint32_t shared_end = 0;
  std::uint32_t registers_per_thread = 0;   // at launch, as the launch bounds allow
  bool blackwell = false;
  std::atomic<std::uint64_t> next_cluster{0};  // clusters not started yet; also taken by try_cancel
  std::atomic<bool> stop{false};

  std::uint32_t num_warps() const noexcept { return static_cast<std::uint32_t>((spec.block.count() + 31) / 32); }
  AccumulationModel accumulation(bool fp8, bool fp4) const noexcept;
  // "key_full[2]", or "mbarrier 0x25C08" where the launch has no name for it.
  std::string barrier_text(std::uint32_t address) const;
  // What is waited for, in short: for stalls and traces.
  std::string wait_text(WaitKind kind, std::uint32_t value) const;
};

struct StallKey {
  std::uint32_t warp, line, kind, value;
  bool operator==(const StallKey&) const = default;
};
struct StallKeyHash {
  std::size_t operator()(const StallKey& k) const noexcept {
    return ((std::size_t{k.warp} * 1000003 + k.line) * 31 + k.kind) * 131 + k.value;
  }
};
struct StallTotal {
  std::uint64_t steps = 0, times = 0;
};

class Cluster {
 public:
  Cluster(Launch& launch, std::uint64_t index);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  void run();

  // The CTA that a shared::cluster address names, and the offset in it; nullptr if there is none.
  Cta* cta_of(std::uint32_t cluster_address) noexcept;
  std::string role(std::uint32_t warp) const;
  void note_stall(const Warp& warp, const Fragment& fragment);
  void note_instruction(const Instruction& instruction) noexcept;

  Launch& launch;
  const std::uint64_t index;
  std::uint64_t now = 1;       // warp instructions so far
  std::uint64_t changes = 1;   // state changes that may unblock someone
  Schedule schedule;
  AsyncQueue async;
  std::vector<std::unique_ptr<Cta>> ctas;
  FaultLog faults;
  std::vector<std::uint64_t> counts;  // per instruction of the program
  std::optional<Timeline> timeline;   // when asked for
  std::unordered_map<StallKey, StallTotal, StallKeyHash> stalls;

  bool cancel_failed = false;   // clusterlaunchcontrol.try_cancel found no work

  // barrier.cluster
  std::uint32_t cluster_arrived = 0;
  std::uint64_t cluster_generation = 1;

 private:
  Warp* choose(const std::vector<Warp*>& warps, std::vector<std::uint64_t>& priorities);
  bool release_or_complete(const std::vector<Warp*>& warps);
  void report_deadlock();
  void check_exit();
};

}  // namespace mlaindex::emulator
