// Experiments on a GPU, each in a process of its own.
#pragma once

#include <string>

#include "runtime/config.h"
#include "tests/hardware/facts/experiment.h"
#include "tests/hardware/facts/fact_kernel.h"

namespace mlaindex::hardware {

// This process must not use CUDA itself: what it forks could not.
class IsolatedMachine final : public Machine {
 public:
  IsolatedMachine(FactKernels& kernels, const Config& config, int ordinal)
      : kernels_(kernels), config_(config), ordinal_(ordinal) {}

  std::string name() const override { return "GPU, isolated"; }
  // As GpuMachine::run in a new process, which a fault or a hang may end: internal.
  Result<Bytes> run(const Experiment& experiment) override;

 private:
  FactKernels& kernels_;
  const Config& config_;
  int ordinal_;
};

}  // namespace mlaindex::hardware
