#include "generator/ptx/rewrite.h"

#include <algorithm>
#include <set>

#include "generator/ptx/instruction_kinds.h"
#include "generator/ptx/parser.h"
#include "generator/ptx/printer.h"
#include "generator/ptx/register_values.h"

namespace mlaindex::ptx {
namespace {

constexpr const char* kCacheHint = "L2::cache_hint";

const char* eviction_name(Eviction eviction) {
  switch (eviction) {
    case Eviction::normal: return "normal";
    case Eviction::first: return "first";
    case Eviction::last: return "last";
  }
  return "normal";
}

// The fixed policies that TMA takes as a 64-bit immediate.
std::uint64_t policy_bits(Eviction eviction) {
  switch (eviction) {
    case Eviction::normal: return 0x1000000000000000;
    case Eviction::first: return 0x12F0000000000000;
    case Eviction::last: return 0x14F0000000000000;
  }
  return 0x1000000000000000;
}

void set_performance(Function& function, const std::string& name, const std::string& argument) {
  const auto found = std::find_if(function.performance.begin(), function.performance.end(),
                                  [&](const Directive& directive) { return directive.name == name; });
  if (found != function.performance.end()) found->arguments = {argument};
  else function.performance.push_back({name, {argument}, {}});
}

void strip_debug(Module& module) {
  const auto is_debug = [](const Directive& directive) {
    return directive.name == "loc" || directive.name == "file" || directive.name == "section";
  };
  std::erase(module.targets, "debug");
  std::erase_if(module.items, [&](const ModuleItem& item) {
    return item.kind == ModuleItem::Kind::directive && is_debug(module.directives[item.index]);
  });
  for (Function& function : module.functions)
    std::erase_if(function.body, [&](const Statement& statement) {
      return statement.kind == Statement::Kind::directive && is_debug(function.directives[statement.index]);
    });
}

void set_eviction(Instruction& load, Eviction eviction) {
  IntegerLiteral literal;
  literal.value = policy_bits(eviction);
  literal.text = std::to_string(literal.value);
  Operand policy;
  policy.value = std::move(literal);
  if (load.opcode.has(kCacheHint)) {
    load.operands.back() = std::move(policy);  // the policy is always last
    return;
  }
  load.opcode.modifiers.push_back(kCacheHint);
  load.operands.push_back(std::move(policy));
}

Status set_evictions(Function& function, const std::map<int, Eviction>& evictions) {
  if (evictions.empty()) return {};
  const RegisterValues values(function);
  std::set<int> answered;
  for (Instruction& instruction : function.instructions) {
    if (!is_tma_load(instruction) || !instruction.opcode.has("tensor")) continue;
    const auto parameter = values.tensor_map_parameter(instruction);
    const auto wanted = parameter ? evictions.find(static_cast<int>(*parameter)) : evictions.end();
    if (wanted == evictions.end()) continue;
    set_eviction(instruction, wanted->second);
    answered.insert(wanted->first);
  }
  for (const auto& [parameter, eviction] : evictions)
    if (!answered.contains(parameter))
      return Error{ErrorCode::invalid_argument,
                   "no TMA load of " + function.name + " takes its map from parameter " + std::to_string(parameter),
                   "the kernel has " + std::to_string(function.parameters.size()) + " parameters, from 0"};
  return {};
}

}  // namespace

std::string RewriteOptions::text() const {
  std::string text;
  if (max_registers) text += " max_registers=" + std::to_string(*max_registers);
  for (const std::string& pragma : entry_pragmas) text += " pragma=" + pragma;
  for (const auto& [parameter, eviction] : tma_eviction)
    text.append(" eviction[").append(std::to_string(parameter)).append("]=").append(eviction_name(eviction));
  if (strip_debug) text += " strip_debug";
  for (const std::string& option : assembler_options) text += " ptxas=" + option;
  return text.empty() ? text : text.substr(1);
}

Result<Module> rewritten(const Module& module, const RewriteOptions& options) {
  if (options.max_registers && (*options.max_registers < 24 || *options.max_registers > 255))
    return Error{ErrorCode::invalid_argument,
                 "max_registers is " + std::to_string(*options.max_registers), "24 to 255 are allowed"};
  Module result = module;
  if (options.strip_debug) strip_debug(result);
  for (Function& function : result.functions) {
    if (!function.is_entry || !function.has_body) continue;
    if (options.max_registers)
      set_performance(function, "maxnreg", std::to_string(*options.max_registers));
    for (const std::string& pragma : options.entry_pragmas) {
      function.body.insert(function.body.begin(), {Statement::Kind::directive,
                                                   static_cast<std::uint32_t>(function.directives.size())});
      function.directives.push_back({"pragma", {"\"" + pragma + "\""}, {}});
    }
    if (Status status = set_evictions(function, options.tma_eviction); !status) return status.error();
  }
  return result;
}

Status RewritePass::run(Artifact& artifact, const PassContext&) const {
  if (!assembler_) return assembler_.error();
  Result<Module> module = parse(artifact.ptx);
  if (!module) return std::move(module).error();
  Result<Module> changed = rewritten(*module, options_);
  if (!changed) return std::move(changed).error();
  std::string text = print(*changed);
  Result<std::string> cubin = assembler_->assemble(text, changed->targets.front(), options_.assembler_options);
  if (!cubin) return std::move(cubin).error();
  artifact.ptx = std::move(text);
  artifact.cubin = std::move(cubin).value();
  artifact.notes.push_back({std::string(name()), "changes", options_.text() + ", assembled by " + assembler_->program()});
  return {};
}

}  // namespace mlaindex::ptx
