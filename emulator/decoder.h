// From a PTX instruction to a handler with resolved operands.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/program.h"

namespace mlaindex::emulator {

// Register file, constants and symbols of the program being loaded.
class Layout {
 public:
  Layout(const ptx::Module& module, const ptx::Function& function, Program& program);

  Status place_variables(std::uint32_t shared_base);

  Operand register_operand(std::uint32_t index) const { return registers_[index]; }
  Operand constant(std::uint64_t bits, unsigned bytes);      // the same value in 32 lanes
  Operand predicate_constant(bool value);
  Operand special(Special special, unsigned bytes);
  // The address of a variable in its own space. Nothing for functions and the like.
  std::optional<Operand> symbol(const ptx::SymbolRef& symbol, std::int64_t offset, unsigned bytes);

  const ptx::Module& module() const noexcept { return module_; }
  const ptx::Function& function() const noexcept { return function_; }
  Program& program() noexcept { return program_; }

 private:
  const ptx::Variable* variable(const ptx::SymbolRef& symbol) const noexcept;
  std::uint32_t allocate(std::uint32_t bytes);
  Status place_shared(std::uint32_t shared_base);
  std::optional<std::uint64_t> global_address(const ptx::Variable& variable);

  const ptx::Module& module_;
  const ptx::Function& function_;
  Program& program_;
  std::vector<Operand> registers_;
  std::map<std::pair<std::uint64_t, unsigned>, Operand> constants_;
  std::map<std::pair<Special, unsigned>, Operand> specials_;
  std::map<std::pair<std::uint64_t, unsigned>, Operand> shared_symbols_;
  std::unordered_map<const ptx::Variable*, std::uint64_t> places_;  // address in the variable's space
};

// One instruction on its way. Families take the modifiers they know and the operands they need;
// whatever is left over, or `fail`, makes the instruction one that stops the run.
class InstructionDecoder {
 public:
  InstructionDecoder(Layout& layout, const ptx::Instruction& source, Instruction& out);

  std::string_view name() const noexcept { return source_.opcode.name; }
  const ptx::Instruction& source() const noexcept { return source_; }
  std::size_t num_operands() const noexcept { return source_.operands.size(); }
  Instruction& out() noexcept { return out_; }
  Layout& layout() noexcept { return layout_; }

  // Modifiers, without their dots. `take` removes one if it is there.
  bool take(std::string_view modifier);
  bool has(std::string_view modifier) const noexcept;
  void ignore(std::initializer_list<std::string_view> modifiers);   // hints and defaults
  std::optional<std::string_view> take_any(std::initializer_list<std::string_view> modifiers);
  std::optional<std::string_view> take_prefix(std::string_view prefix);
  std::optional<ptx::ScalarType> take_type();                       // the first type left
  const std::vector<std::string_view>& modifiers() const noexcept { return modifiers_; }

  // Operand `i` of the source as a value of `bytes` bytes. `any_width` takes registers of other widths.
  Operand value(std::size_t i, unsigned bytes, bool floating = false, bool any_width = false);
  Operand value(const ptx::Operand& operand, unsigned bytes, bool floating = false, bool any_width = false);
  Operand predicate(std::size_t i);
  Operand predicate(const ptx::Operand& operand);
  AddressOperand address(std::size_t i);
  const ptx::Address* tensor_address(std::size_t i) const noexcept;
  AddressOperand address(const ptx::Address& address);
  // The elements of `{...}`, or the operand itself.
  std::vector<const ptx::Operand*> elements(std::size_t i) const;
  std::optional<std::int64_t> integer(std::size_t i) const noexcept;  // an integer literal
  std::optional<std::uint32_t> label(std::size_t i) const noexcept;   // instruction index

  // Appends operand `i` to the output.
  void add(std::size_t i, unsigned bytes, bool floating = false, bool any_width = false) {
    out_.operands.push_back(value(i, bytes, floating, any_width));
  }

  void handler(Handler h) noexcept { out_.handler = h; }
  void fail(std::string why);
  bool failed() const noexcept { return !failure_.empty(); }
  const std::string& failure() const noexcept { return failure_; }

 private:
  Layout& layout_;
  const ptx::Instruction& source_;
  Instruction& out_;
  std::vector<std::string_view> modifiers_;
  std::string failure_;
};

// A family knows some opcodes: false if this is none of them.
using Family = bool (*)(InstructionDecoder&);

bool decode_integer(InstructionDecoder&);
bool decode_bits(InstructionDecoder&);
bool decode_float(InstructionDecoder&);
bool decode_half(InstructionDecoder&);
bool decode_compare(InstructionDecoder&);
bool decode_move(InstructionDecoder&);
bool decode_convert(InstructionDecoder&);
bool decode_memory(InstructionDecoder&);
bool decode_atomic(InstructionDecoder&);
bool decode_control(InstructionDecoder&);
bool decode_fence(InstructionDecoder&);
bool decode_warp(InstructionDecoder&);
bool decode_barrier(InstructionDecoder&);
bool decode_mbarrier(InstructionDecoder&);
bool decode_bulk_copy(InstructionDecoder&);
bool decode_wgmma(InstructionDecoder&);
bool decode_tcgen05(InstructionDecoder&);
bool decode_cluster_launch(InstructionDecoder&);

unsigned bytes_of(ptx::ScalarType type) noexcept;
bool is_floating(ptx::ScalarType type) noexcept;
bool is_signed(ptx::ScalarType type) noexcept;

}  // namespace mlaindex::emulator
