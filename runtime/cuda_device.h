// Scores on a GPU.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/launcher.h"

namespace mlaindex {

class CudaDevice : public Device {
 public:
  // Errors: no_driver, no_device, unsupported_arch (no kernels for that GPU), cuda_error. The store
  // must outlive the device.
  static Result<std::unique_ptr<CudaDevice>> open(int ordinal, KernelStore& store, const Config& config);

  std::string name() const override;
  Result<ScoreRun> score(const ScoreProblem& problem, ScoreBuffer scores, const RunOptions& options) override;

  Arch arch() const noexcept { return arch_; }
  const std::shared_ptr<const Context>& context() const noexcept { return context_; }

  // The launcher of a kernel, loaded at the first call. Valid as long as the device.
  Result<Launcher*> launcher(const CompiledKernel& kernel);

 private:
  CudaDevice(std::shared_ptr<const Context> context, Arch arch, KernelStore& store, Overlap overlap);

  std::shared_ptr<const Context> context_;
  Arch arch_;
  KernelStore& store_;
  Overlap overlap_;
  std::map<std::string, Launcher> launchers_;  // by the kernel's key
};

}  // namespace mlaindex
