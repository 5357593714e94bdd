#include "generator/ptx/normalise.h"

#include <cstdio>
#include <map>
#include <set>

#include "generator/ptx/parser.h"
#include "generator/ptx/printer.h"
#include "generator/ptx/visit_operands.h"

namespace mlaindex::ptx {
namespace {

bool is_debug(const Directive& directive) {
  return directive.name == "loc" || directive.name == "file" || directive.name == "section";
}

std::string numbered(std::string prefix, std::size_t number) {
  return prefix.append(std::to_string(number));
}

std::string hexadecimal(std::uint64_t bits, bool is_f32) {
  char text[24];
  if (is_f32) std::snprintf(text, sizeof text, "0f%08X", static_cast<unsigned>(bits));
  else std::snprintf(text, sizeof text, "0d%016llX", static_cast<unsigned long long>(bits));
  return text;
}

void normalise_number(Operand& operand) {
  if (auto* integer = operand.as<IntegerLiteral>())
    integer->text = std::to_string(static_cast<std::int64_t>(integer->value));
  if (auto* floating = operand.as<FloatLiteral>())
    floating->text = hexadecimal(floating->bits, floating->is_f32);
  if (auto* address = operand.as<Address>()) {
    address->has_offset = address->offset != 0;
    if (auto* base = std::get_if<IntegerLiteral>(&address->base))
      base->text = std::to_string(static_cast<std::int64_t>(base->value));
  }
}

// Labels that an instruction or a branch table names, renumbered densely in the order of the text.
std::vector<std::uint32_t> used_label_numbers(Function& function) {
  std::vector<bool> used(function.labels.size());
  for (Instruction& instruction : function.instructions)
    visit_operands(instruction, [&](Operand& operand) {
      if (const auto* label = operand.as<LabelRef>()) used[label->index] = true;
    });
  for (const BranchTable& table : function.branch_tables)
    for (std::uint32_t label : table.labels) used[label] = true;
  std::vector<std::uint32_t> numbers(used.size(), kNoIndex);
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i]) numbers[i] = next++;
  return numbers;
}

void normalise_labels(Function& function) {
  const std::vector<std::uint32_t> numbers = used_label_numbers(function);
  std::vector<Label> labels;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == kNoIndex) continue;
    labels.push_back({numbered("L", numbers[i]), 0, function.labels[i].instruction, {}});
  }
  function.labels = std::move(labels);
  for (Instruction& instruction : function.instructions)
    visit_operands(instruction, [&](Operand& operand) {
      if (auto* label = operand.as<LabelRef>()) label->index = numbers[label->index];
    });
  for (std::size_t i = 0; i < function.branch_tables.size(); ++i) {
    BranchTable& table = function.branch_tables[i];
    table.name = numbered("T", i);
    table.scope = 0;
    for (std::uint32_t& label : table.labels) label = numbers[label];
  }
  std::erase_if(function.body, [&](const Statement& statement) {
    return statement.kind == Statement::Kind::label && numbers[statement.index] == kNoIndex;
  });
  for (Statement& statement : function.body)
    if (statement.kind == Statement::Kind::label) statement.index = numbers[statement.index];
}

// Registers already stand in order of first use; they are declared once, at the top.
void normalise_registers(Function& function) {
  std::map<ScalarType, RegisterDeclaration> declarations;
  for (std::size_t i = 0; i < function.registers.size(); ++i) {
    Register& reg = function.registers[i];
    reg.name = numbered("%r", i);
    reg.scope = 0;
    RegisterDeclaration& declaration = declarations[reg.type];
    declaration.type = reg.type;
    declaration.names.push_back({reg.name, 0});
  }
  function.register_declarations.clear();
  std::vector<Statement> body;
  for (auto& [type, declaration] : declarations) {
    body.push_back({Statement::Kind::registers,
                    static_cast<std::uint32_t>(function.register_declarations.size())});
    function.register_declarations.push_back(std::move(declaration));
  }
  for (const Statement& statement : function.body) {
    const bool scope = statement.kind == Statement::Kind::scope_begin ||
                       statement.kind == Statement::Kind::scope_end;
    if (!scope && statement.kind != Statement::Kind::registers) body.push_back(statement);
  }
  function.body = std::move(body);
  function.scopes.assign(1, Scope{});
}

void normalise_function(Function& function) {
  if (!function.has_body) return;
  normalise_labels(function);
  normalise_registers(function);
  for (Instruction& instruction : function.instructions) {
    instruction.scope = 0;
    visit_operands(instruction, normalise_number);
  }
  for (std::size_t i = 0; i < function.variables.size(); ++i) {
    Variable& variable = function.variables[i];
    if (variable.space == StateSpace::param) variable.name = numbered("P", i);
  }
  std::erase_if(function.body, [&](const Statement& statement) {
    return statement.kind == Statement::Kind::directive && is_debug(function.directives[statement.index]);
  });
}

// Names of module variables that code refers to, directly or through initialisers.
std::set<std::string> used_variables(const Module& module) {
  std::vector<std::string> pending;
  const auto note = [&](const SymbolRef* symbol) {
    if (symbol && symbol->table == SymbolTable::module_variable)
      pending.push_back(module.variables[symbol->index].name);
  };
  for (const Function& function : module.functions)
    for (const Instruction& instruction : function.instructions)
      visit_operands(instruction, [&](const Operand& operand) {
        note(operand.as<SymbolRef>());
        if (const auto* address = operand.as<Address>()) note(std::get_if<SymbolRef>(&address->base));
      });
  std::map<std::string, const Variable*> by_name;
  for (const Variable& variable : module.variables) {
    by_name[variable.name] = &variable;
    if (!variable.linkage.empty() && variable.linkage != "extern") pending.push_back(variable.name);
  }
  std::set<std::string> used;
  while (!pending.empty()) {
    const std::string name = std::move(pending.back());
    pending.pop_back();
    if (!used.insert(name).second) continue;
    const auto variable = by_name.find(name);
    if (variable == by_name.end()) continue;
    for (const Initialiser& initialiser : variable->second->initialisers)
      if (initialiser.is_symbol) pending.push_back(initialiser.text);
  }
  return used;
}

}  // namespace

Module normalised(const Module& module) {
  Module result = module;
  for (Function& function : result.functions) normalise_function(function);
  const std::set<std::string> used = used_variables(result);
  std::erase_if(result.items, [&](const ModuleItem& item) {
    if (item.kind == ModuleItem::Kind::variable) return !used.contains(result.variables[item.index].name);
    return item.kind == ModuleItem::Kind::directive && is_debug(result.directives[item.index]);
  });
  return result;
}

Digest code_digest(const Module& module) { return digest_of(print(normalised(module))); }

Status NormalisePass::run(Artifact& artifact, const PassContext&) const {
  Result<Module> module = parse(artifact.ptx);
  if (!module) return std::move(module).error();
  artifact.code_digest = code_digest(*module);
  artifact.notes.push_back({std::string(name()), "digest", hex(artifact.code_digest)});
  return {};
}

}  // namespace mlaindex::ptx
