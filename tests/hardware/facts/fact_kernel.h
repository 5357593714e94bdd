// The kernels of this folder, compiled by NVRTC when an experiment first needs them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/compile.h"
#include "runtime/kernel_store.h"
#include "tests/hardware/facts/experiment.h"

namespace mlaindex::hardware {

class FactKernels {
 public:
  explicit FactKernels(std::unique_ptr<Compiler> compiler) : compiler_(std::move(compiler)) {}

  // For sm_90a. Valid as long as this object. Errors: invalid_argument (no such kernel), those of
  // Compiler::compile.
  Result<const CompiledKernel*> get(const Experiment& experiment);

 private:
  std::unique_ptr<Compiler> compiler_;
  std::map<std::string, CompiledKernel> kernels_;  // by source
};

}  // namespace mlaindex::hardware
