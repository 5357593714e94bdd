// Experiments on the emulator, in its model of Hopper's arithmetic.
#pragma once

#include <map>
#include <string>

#include "generator/ptx/module.h"
#include "tests/hardware/facts/experiment.h"
#include "tests/hardware/facts/fact_kernel.h"

namespace mlaindex::hardware {

class EmulatedMachine final : public Machine {
 public:
  explicit EmulatedMachine(FactKernels& kernels) : kernels_(kernels) {}

  std::string name() const override { return "emulator"; }
  // Runs several schedules, which must agree; any finding of the emulator is an error.
  Result<Bytes> run(const Experiment& experiment) override;

 private:
  FactKernels& kernels_;
  std::map<const CompiledKernel*, ptx::Module> modules_;
};

}  // namespace mlaindex::hardware
