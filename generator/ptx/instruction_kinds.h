// Questions about an instruction that several passes ask.
#pragma once

#include <string_view>

#include "generator/ptx/module.h"

namespace mlaindex::ptx {

// True when the first operand is a destination in registers.
bool writes_first_operand(const Instruction& instruction) noexcept;

// True for name.first[...]: "tcgen05.mma", "mbarrier.init". `first` is the first modifier.
bool is(const Instruction& instruction, std::string_view name, std::string_view first) noexcept;

// cp.async.bulk[.tensor] that writes shared memory and counts on an mbarrier.
bool is_tma_load(const Instruction& instruction) noexcept;
// ld of shared memory by a thread.
bool is_shared_load(const Instruction& instruction) noexcept;
// fence.proxy.async, in any state space.
bool is_proxy_fence(const Instruction& instruction) noexcept;
// mbarrier.try_wait or test_wait.
bool is_barrier_wait(const Instruction& instruction) noexcept;
// bar or barrier of any form, but not bar.warp.
bool is_cta_barrier(const Instruction& instruction) noexcept;

}  // namespace mlaindex::ptx
