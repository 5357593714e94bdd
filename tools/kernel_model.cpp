#include "tools/kernel_model.h"

#include "runtime/find_disassembler.h"

namespace mlaindex::tools {

Result<KernelModel> KernelModel::create(const Config& config, const model::Gpu& gpu) {
  Result<model::Disassembler> disassembler = find_disassembler(config);
  if (!disassembler) return disassembler.error();
  return KernelModel(*std::move(disassembler), gpu);
}

Result<const model::LoopCosts*> KernelModel::loop(const CompiledKernel& kernel) {
  const auto known = loops_.find(kernel.key);
  if (known != loops_.end()) return &known->second;
  const Result<std::string> sass = disassembler_.disassemble(kernel.cubin);
  if (!sass) return sass.error();
  Result<model::LoopCosts> loop = model::loop_costs(*sass, kernel.spec.arch);
  if (!loop) return loop.error();
  return &loops_.emplace(kernel.key, *std::move(loop)).first->second;
}

Result<model::Prediction> KernelModel::predict(const CompiledKernel& kernel, const ProblemSize& size) {
  const Result<const model::LoopCosts*> costs = loop(kernel);
  if (!costs) return costs.error();
  return model::predict(kernel.spec, kernel.plan, **costs, size, gpu_);
}

}  // namespace mlaindex::tools
