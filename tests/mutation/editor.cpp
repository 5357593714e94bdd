#include "tests/mutation/editor.h"

#include <algorithm>
#include <string>

namespace mlaindex::mutation {

using ptx::Instruction;
using ptx::Operand;
using ptx::RegisterRef;
using ptx::ScalarType;
using ptx::Statement;

Editor::Editor(const ptx::Module& original) : module_(original) {
  while (!module_.functions[entry_].is_entry) ++entry_;
  values_ = std::make_shared<ptx::RegisterValues>(original.functions[entry_]);
}

void Editor::erase(std::uint32_t index) {
  ptx::Function& entry = function();
  entry.instructions.erase(entry.instructions.begin() + index);
  std::erase_if(entry.body, [&](const Statement& statement) {
    return statement.kind == Statement::Kind::instruction && statement.index == index;
  });
  for (Statement& statement : entry.body)
    if (statement.kind == Statement::Kind::instruction && statement.index > index) --statement.index;
  for (ptx::Label& label : entry.labels)
    if (label.instruction > index) --label.instruction;
}

void Editor::insert(std::uint32_t index, Instruction instruction) {
  ptx::Function& entry = function();
  instruction.scope = at(index).scope;
  instruction.location = instruction.location.line != 0 ? instruction.location : at(index).location;
  entry.instructions.insert(entry.instructions.begin() + index, std::move(instruction));
  auto place = entry.body.end();
  for (auto it = entry.body.begin(); it != entry.body.end(); ++it) {
    if (it->kind != Statement::Kind::instruction || it->index < index) continue;
    if (it->index == index) place = it;
    ++it->index;
  }
  entry.body.insert(place, {Statement::Kind::instruction, index});
  for (ptx::Label& label : entry.labels)
    if (label.instruction > index) ++label.instruction;
}

void Editor::move(std::uint32_t from, std::uint32_t to) {
  Instruction moved = at(from);
  insert(to, std::move(moved));
  erase(from < to ? from : from + 1);
}

Operand Editor::compute(std::uint32_t index, ScalarType type, ptx::Opcode opcode, std::vector<Operand> sources) {
  ptx::Function& entry = function();
  const RegisterRef result{static_cast<std::uint32_t>(entry.registers.size())};
  const std::string name = "%planted" + std::to_string(result.index);
  entry.registers.push_back({name, type, 0});
  entry.body.insert(entry.body.begin(),
                       {Statement::Kind::registers, static_cast<std::uint32_t>(entry.register_declarations.size())});
  entry.register_declarations.push_back({type, {{name, 0}}, {}});

  Instruction instruction;
  instruction.opcode = std::move(opcode);
  instruction.operands = std::move(sources);
  instruction.operands.insert(instruction.operands.begin(), Operand{result});
  insert(index, std::move(instruction));
  return Operand{result};
}

void Editor::change_operand(std::uint32_t index, std::size_t operand, const char* name, ScalarType type,
                            std::uint64_t amount) {
  if (ptx::bit_width(type) == 32) amount &= 0xffffffff;
  const Operand source = at(index).operands[operand];
  const Operand result = compute(index, type, {name, {std::string(ptx::spelling(type))}}, {source, literal(amount)});
  at(index + 1).operands[operand] = result;
}

void Editor::move_address(std::uint32_t index, std::size_t operand, std::int64_t bytes) {
  auto* address = at(index).operands[operand].as<ptx::Address>();
  address->offset += bytes;
  address->has_offset = true;
}

Operand literal(std::uint64_t value) { return {ptx::IntegerLiteral{value, std::to_string(value)}}; }

}  // namespace mlaindex::mutation
