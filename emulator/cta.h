// One CTA: its memories, barriers, register pool and warps.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emulator/mbarrier.h"
#include "emulator/shared_memory.h"
#include "emulator/tensor_memory.h"
#include "emulator/warp.h"

namespace mlaindex::emulator {

class Cluster;

struct NamedBarrier {
  std::uint32_t arrived = 0;      // threads in the current generation
  std::uint32_t expected = 0;     // threads; 0: not in use, or all live threads of the CTA
  std::uint64_t generation = 1;
  bool whole_cta = false;
};

class Cta {
 public:
  Cta(Cluster& cluster, std::uint32_t rank, std::array<std::uint32_t, 3> coordinates);

  // Who initialised a barrier; asynchronous work may use it once that warp has fenced the init.
  struct MbarrierOrigin {
    std::uint32_t warp = 0;
    bool fenced = false;
  };
  MbarrierOrigin* mbarrier_origin(std::uint32_t address) noexcept;
  void fence_mbarrier_inits(std::uint32_t warp) noexcept;

  // The barrier at a shared offset, or nullptr where mbarrier.init has not run.
  Mbarrier* mbarrier(std::uint32_t address) noexcept;
  Mbarrier& make_mbarrier(std::uint32_t address);
  void drop_mbarrier(std::uint32_t address) noexcept;
  const std::vector<std::pair<std::uint32_t, Mbarrier>>& mbarriers() const noexcept { return mbarriers_; }
  bool overlaps_mbarrier(std::uint32_t address, std::uint32_t size) const noexcept;

  std::uint32_t live_threads() const noexcept;
  bool done() const noexcept;

  // Registers a warp may take from the pool: what setmaxnreg.dec gave back.
  std::uint32_t free_registers() const noexcept;

  // setmaxnreg acts on warpgroups: its four warps must ask for the same counts in the same order.
  void note_register_request(Warp& warp, std::uint32_t registers);
  void check_register_requests();

  // Reports with the warp's current instruction as the place. Fatal ones end the run.
  void report(FaultKind kind, bool fatal, const Warp* warp, std::string message, std::uint32_t line = 0);

  Cluster& cluster;
  const std::uint32_t rank;                       // in its cluster
  const std::array<std::uint32_t, 3> coordinates;
  SharedMemory shared;
  TensorMemory tensor;
  std::array<NamedBarrier, 16> named;
  std::uint32_t register_pool = 0;                // registers of all threads at launch
  std::vector<std::unique_ptr<Warp>> warps;
  bool next_launch_may_start = false;             // griddepcontrol.launch_dependents was executed
  std::vector<std::uint64_t> fence_before;        // per warp, for TensorMemory
  std::vector<std::vector<std::uint32_t>> register_requests;  // per warp

 private:
  std::vector<std::pair<std::uint32_t, Mbarrier>> mbarriers_;
  std::vector<MbarrierOrigin> mbarrier_origins_;  // parallel to mbarriers_
  std::vector<std::uint16_t> mbarrier_index_;     // by address / 8; 0: none
};

}  // namespace mlaindex::emulator
