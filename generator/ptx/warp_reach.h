// Which instructions a warp can come to.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/ptx/control_flow.h"

namespace mlaindex::ptx {

// By instruction: whether warp `warp` of a one-dimensional block can reach it, given the branches that
// its index decides. An instruction that is not reached is never executed by it; the reverse need
// not hold.
std::vector<bool> reached_by_warp(const Function& function, const ControlFlow& flow, std::uint32_t warp);

}  // namespace mlaindex::ptx
