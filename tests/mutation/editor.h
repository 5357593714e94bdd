// A copy of a kernel's PTX module in which one defect is planted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "generator/ptx/module.h"
#include "generator/ptx/register_values.h"

namespace mlaindex::mutation {

// Edits the only entry of the copy. Instructions are named by their index in it; the module stays
// one that can be executed. Lines of instructions remain those of the original text.
class Editor {
 public:
  explicit Editor(const ptx::Module& original);  // which must outlive the editor

  std::uint32_t size() const { return static_cast<std::uint32_t>(entry().instructions.size()); }
  const ptx::Instruction& at(std::uint32_t index) const { return entry().instructions[index]; }
  ptx::Instruction& at(std::uint32_t index) { return function().instructions[index]; }
  const ptx::Function& entry() const { return module_.functions[entry_]; }
  const ptx::Module& module() const { return module_; }

  // Of a register of the unchanged program, where every path agrees.
  std::optional<std::uint64_t> constant(const ptx::Operand& operand) const { return values_->constant(operand); }
  std::uint64_t known_ones(const ptx::Operand& operand) const { return values_->of(operand).ones; }

  void erase(std::uint32_t index);
  // In front of `index`; a label there leads to the new instruction.
  void insert(std::uint32_t index, ptx::Instruction instruction);
  // To in front of what is at `to` now.
  void move(std::uint32_t from, std::uint32_t to);

  // Puts opcode result, sources...; in front of `index` and returns the result, of that type.
  ptx::Operand compute(std::uint32_t index, ptx::ScalarType type, ptx::Opcode opcode, std::vector<ptx::Operand> sources);
  // Puts `name`.`type` result, operand, amount; in front, and its result in place of the operand.
  void change_operand(std::uint32_t index, std::size_t operand, const char* name, ptx::ScalarType type,
                      std::uint64_t amount);
  // Moves the address by so many bytes.
  void move_address(std::uint32_t index, std::size_t operand, std::int64_t bytes);

 private:
  ptx::Function& function() { return module_.functions[entry_]; }

  ptx::Module module_;
  std::size_t entry_ = 0;
  std::shared_ptr<const ptx::RegisterValues> values_;  // of the original, whose registers keep their indices
};

ptx::Operand literal(std::uint64_t value);

}  // namespace mlaindex::mutation
