// The cycle model of kernels that this machine compiles.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "generator/model/disassembler.h"
#include "generator/model/prediction.h"
#include "runtime/config.h"
#include "runtime/kernel_store.h"

namespace mlaindex::tools {

// For one thread at a time.
class KernelModel {
 public:
  // Errors: those of find_disassembler.
  static Result<KernelModel> create(const Config& config, const model::Gpu& gpu);

  const model::Gpu& gpu() const noexcept { return gpu_; }

  // What the kernel's math loop costs; it is disassembled at the first call. Stays valid as long as the model does.
  // Errors: those of Disassembler::disassemble and loop_costs.
  Result<const model::LoopCosts*> loop(const CompiledKernel& kernel);

  // Of a launch of the kernel. Errors: those of loop() and model::predict.
  Result<model::Prediction> predict(const CompiledKernel& kernel, const ProblemSize& size);

 private:
  KernelModel(model::Disassembler disassembler, const model::Gpu& gpu)
      : disassembler_(std::move(disassembler)), gpu_(gpu) {}

  model::Disassembler disassembler_;
  model::Gpu gpu_;
  std::map<std::string, model::LoopCosts> loops_;  // by the kernel's key
};

}  // namespace mlaindex::tools
