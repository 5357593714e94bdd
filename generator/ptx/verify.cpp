#include "generator/ptx/verify.h"

#include "generator/ptx/describe.h"
#include "generator/ptx/instruction_kinds.h"
#include "generator/ptx/parser.h"
#include "generator/ptx/printer.h"
#include "generator/ptx/verify_rules.h"

namespace mlaindex::ptx {
namespace {

constexpr std::size_t kReported = 5;  // findings quoted in an error message

// The class of an instruction in the census; empty for those not counted.
std::string census_class(const Instruction& instruction) {
  const Opcode& opcode = instruction.opcode;
  if (opcode.name == "tcgen05" || opcode.name == "wgmma" || opcode.name == "mbarrier") {
    std::string text = opcode.name;
    if (!opcode.modifiers.empty()) text.append(".").append(opcode.modifiers.front());
    return text;
  }
  if (is_tma_load(instruction)) return "TMA load";
  if (is(instruction, "cp", "async") && opcode.has("bulk_group")) return "TMA store";
  if (is_proxy_fence(instruction)) return "fence.proxy.async";
  if (opcode.name == "setmaxnreg" || opcode.name == "bar" || opcode.name == "barrier" ||
      opcode.name == "elect" || opcode.name == "shfl" || opcode.name == "call" || opcode.name == "trap")
    return opcode.name;
  if ((opcode.name == "ld" || opcode.name == "st") && !opcode.modifiers.empty()) {
    for (const char* space : {"global", "shared", "local"})
      if (opcode.has(space)) return opcode.name + "." + space;
  }
  return {};
}

std::string described(const Finding& finding) { return "\n  " + finding.text(); }

}  // namespace

std::string Finding::text() const {
  std::string text = rule;
  if (location.line != 0) text = "line " + std::to_string(location.line) + ": " + text;
  text.append(": ").append(message);
  if (!instruction.empty()) text.append(": ").append(instruction);
  return text;
}

void Examination::report(const char* rule, const Instruction& instruction, std::string message) {
  findings.push_back({rule, instruction.location, std::move(message), print(instruction, function, module)});
}

void Examination::report(const char* rule, std::string message) {
  findings.push_back({rule, function.location, std::move(message), ""});
}

std::vector<Finding> verify(const Module& module, const Function& entry, const VerifyContext& context) {
  Examination examination(module, entry, context);
  check_register_pool(examination);
  check_barriers(examination);
  check_tensor_memory(examination);
  check_tensor_core_order(examination);
  check_descriptors(examination);
  check_transactions(examination);
  check_proxy_fences(examination);
  check_aligned(examination);
  check_arrivals(examination);
  return std::move(examination.findings);
}

std::map<std::string, int> census(const Function& entry, const std::vector<bool>& counted) {
  std::map<std::string, int> counts;
  for (std::size_t i = 0; i < entry.instructions.size(); ++i) {
    if (!counted.empty() && !counted[i]) continue;
    std::string name = census_class(entry.instructions[i]);
    if (!name.empty()) ++counts[std::move(name)];
  }
  return counts;
}

Status VerifyPass::run(Artifact& artifact, const PassContext& pass_context) const {
  Result<Module> module = parse(artifact.ptx);
  if (!module) return std::move(module).error();
  for (const Function& function : module->functions) {
    if (!function.is_entry || !function.has_body) continue;
    VerifyContext context;
    context.tensor_map_box_bytes = pass_context.tensor_map_box_bytes;
    for (const KernelFacts& kernel : artifact.facts.kernels)
      if (kernel.entry == function.name) context.launch_registers = static_cast<int>(kernel.registers);
    const std::vector<Finding> findings = verify(*module, function, context);
    if (!findings.empty()) {
      std::string message = function.name + " breaks the kernel contract in " +
                            std::to_string(findings.size()) + " place(s):";
      for (std::size_t i = 0; i < findings.size() && i < kReported; ++i) message += described(findings[i]);
      return Error{ErrorCode::rejected_by_pass, std::move(message), "lines are those of the PTX"};
    }
    if (!pass_context.describe) continue;
    for (Note& note : describe(*module, function, pass_context, context.launch_registers))
      artifact.notes.push_back(std::move(note));
  }
  return {};
}

}  // namespace mlaindex::ptx
