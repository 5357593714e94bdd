// Experiments on a GPU.
#pragma once

#include <memory>
#include <string>

#include "runtime/config.h"
#include "runtime/context.h"
#include "tests/hardware/facts/experiment.h"
#include "tests/hardware/facts/fact_kernel.h"

namespace mlaindex::hardware {

class GpuMachine final : public Machine {
 public:
  // Errors: no_driver, no_device, cuda_error, unsupported_arch (not sm_90).
  static Result<std::unique_ptr<GpuMachine>> open(FactKernels& kernels, const Config& config, int ordinal);

  std::string name() const override { return context_->properties().name; }
  // After a fault of a kernel the GPU refuses everything else that this process asks: not_run().
  // A driver's error is its name only.
  Result<Bytes> run(const Experiment& experiment) override;

 private:
  GpuMachine(FactKernels& kernels, std::shared_ptr<const Context> context)
      : kernels_(kernels), context_(std::move(context)) {}

  Result<Bytes> launch(const Experiment& experiment);

  FactKernels& kernels_;
  std::shared_ptr<const Context> context_;
  bool lost_ = false;
};

}  // namespace mlaindex::hardware
