#include "generator/ptx/resource_gate.h"

namespace mlaindex::ptx {
namespace {

Error refused(std::string message, std::string hint) {
  return Error{ErrorCode::rejected_by_pass, std::move(message), std::move(hint)};
}

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string entry_list(const std::vector<KernelFacts>& kernels) {
  std::string text;
  for (const KernelFacts& kernel : kernels) text += (text.empty() ? "" : ", ") + kernel.entry;
  return text.empty() ? "none" : text;
}

}  // namespace

Status ResourceGate::run(Artifact& artifact, const PassContext& context) const {
  const CubinFacts& facts = artifact.facts;
  if (facts.sm_number != context.sm_number)
    return refused("the cubin is for sm_" + number(static_cast<unsigned>(facts.sm_number)) +
                       ", the plan for sm_" + number(static_cast<unsigned>(context.sm_number)),
                   "compile for the plan's architecture");
  if (facts.kernels.size() != 1 || facts.kernels.front().entry != context.entry)
    return refused("entry points of the cubin: " + entry_list(facts.kernels),
                   "exactly one is allowed, " + context.entry);

  const KernelFacts& kernel = facts.kernels.front();
  const auto max_registers = static_cast<std::uint32_t>(context.max_registers_per_thread);
  if (kernel.registers > max_registers)
    return refused(kernel.entry + " takes " + number(kernel.registers) + " registers a thread",
                   "the plan allows " + number(max_registers) + "; use a plan with smaller tiles");
  if (kernel.frame_bytes > 0 && !context.allow_spills)
    return refused(kernel.entry + " spills: its local frame is " + number(kernel.frame_bytes) +
                       " bytes a thread",
                   "0 is allowed; use a plan with smaller tiles or more registers a thread");
  const std::uint64_t shared =
      kernel.static_shared_bytes + static_cast<std::uint64_t>(context.dynamic_shared_bytes);
  if (shared > static_cast<std::uint64_t>(context.max_shared_bytes))
    return refused(kernel.entry + " needs " + number(shared) + " bytes of shared memory (" +
                       number(kernel.static_shared_bytes) + " static)",
                   number(static_cast<std::uint64_t>(context.max_shared_bytes)) +
                       " are allowed; use a plan with fewer stages");
  artifact.notes.push_back({std::string(name()), "budget",
                            number(kernel.registers) + " of " + number(max_registers) + " registers, " +
                                number(kernel.frame_bytes) + " bytes of spills" +
                                (context.allow_spills ? " (allowed)" : "") + ", " + number(shared) + " of " +
                                number(static_cast<std::uint64_t>(context.max_shared_bytes)) +
                                " bytes of shared memory"});
  return {};
}

}  // namespace mlaindex::ptx
