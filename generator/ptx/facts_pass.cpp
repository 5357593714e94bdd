#include "generator/ptx/facts_pass.h"

namespace mlaindex::ptx {

Status FactsPass::run(Artifact& artifact, const PassContext&) const {
  Result<CubinFacts> facts = read_cubin_facts(artifact.cubin);
  if (!facts) return facts.error();
  artifact.facts = std::move(facts).value();
  for (const KernelFacts& kernel : artifact.facts.kernels) {
    artifact.notes.push_back(
        {std::string(name()), "kernel",
         kernel.entry + ": " + std::to_string(kernel.registers) + " registers, " +
             std::to_string(kernel.frame_bytes) + " bytes of local frame (spills), " +
             std::to_string(kernel.static_shared_bytes) + " bytes of static shared memory, " +
             std::to_string(kernel.parameter_bytes) + " bytes of parameters, " +
             std::to_string(kernel.code_bytes) + " bytes of code"});
  }
  if (!artifact.facts.tool.empty()) artifact.notes.push_back({std::string(name()), "assembler", artifact.facts.tool});
  return {};
}

}  // namespace mlaindex::ptx
