// The rules of the verify pass. Private to it.
#pragma once

#include "generator/ptx/control_flow.h"
#include "generator/ptx/register_values.h"
#include "generator/ptx/thread_paths.h"
#include "generator/ptx/verify.h"

namespace mlaindex::ptx {

// One entry under examination and what was found in it.
struct Examination {
  const Module& module;
  const Function& function;
  const VerifyContext& context;
  ControlFlow flow;
  RegisterValues values;
  ThreadPaths paths;
  std::vector<Finding> findings;

  Examination(const Module& in_module, const Function& entry, const VerifyContext& with)
      : module(in_module), function(entry), context(with), flow(entry), values(entry), paths(entry, flow) {}

  const Instruction& at(std::uint32_t index) const { return function.instructions[index]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(function.instructions.size()); }
  // About one instruction, or about the entry as a whole.
  void report(const char* rule, const Instruction& instruction, std::string message);
  void report(const char* rule, std::string message);
};

// setmaxnreg against the register pool and the entry's directives.
void check_register_pool(Examination& examination);
// mbarrier initialisation.
void check_barriers(Examination& examination);
// Arrivals against the counts of mbarrier.init, what one thread alone must do, and lanes left behind.
void check_arrivals(Examination& examination);
// Tensor memory: allocated, permit relinquished, freed; one cta_group.
void check_tensor_memory(Examination& examination);
// Order of tensor core work against commits, waits and fences.
void check_tensor_core_order(Examination& examination);
// Instruction descriptors and shared memory descriptors, as far as their bits are constant.
void check_descriptors(Examination& examination);
// Bytes that a barrier is told to expect against the boxes of the loads that follow.
void check_transactions(Examination& examination);
// Slots that threads read and TMA refills.
void check_proxy_fences(Examination& examination);
// Warp-wide instructions that only one lane reaches.
void check_aligned(Examination& examination);

}  // namespace mlaindex::ptx
