// Which threads of a block can reach which instruction, as far as branches on the thread's index
// decide. Branches on anything else count as going both ways.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "generator/ptx/control_flow.h"
#include "generator/ptx/module.h"

namespace mlaindex::ptx {

class ThreadPaths {
 public:
  // Of a one-dimensional block of as many threads as the entry's directives allow; without such a
  // directive, or with a block of another shape, it has no warps. Lanes 1 to 31 of a warp count as
  // alike, and elect.sync as electing lane 0. `flow` is used during construction only.
  ThreadPaths(const Function& entry, const ControlFlow& flow);

  std::uint32_t num_warps() const noexcept { return static_cast<std::uint32_t>(first_lane_.size()); }
  // Whether lane 0 of the warp, or one of the others, can execute the instruction.
  bool executes_in_first_lane(std::uint32_t warp, std::uint32_t instruction) const { return first_lane_[warp][instruction]; }
  bool executes_in_other_lanes(std::uint32_t warp, std::uint32_t instruction) const { return other_lanes_[warp][instruction]; }
  // Threads of the warp that can execute one of the instructions: 0, 1, 31 or 32.
  std::uint32_t threads(std::uint32_t warp, std::span<const std::uint32_t> instructions) const;

 private:
  std::vector<std::vector<bool>> first_lane_, other_lanes_;  // by warp, then by instruction
};

}  // namespace mlaindex::ptx
