// What is known of register values before the kernel runs: constant bits, and shared memory
// addresses as a symbol and an offset.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "generator/ptx/module.h"

namespace mlaindex::ptx {

// An address inside a variable: exactly at `offset`, or anywhere from there on.
struct Anchor {
  SymbolTable table = SymbolTable::module_variable;
  std::uint32_t index = kNoIndex;
  std::int64_t offset = 0;
  bool exact = true;
  bool operator==(const Anchor&) const = default;
  bool same_variable(const Anchor& other) const { return table == other.table && index == other.index; }
};

// Facts that hold whatever the path: one value stands for all writes of a register.
struct AbstractValue {
  bool defined = false;      // some write of it has been seen
  std::uint64_t zeros = 0;   // bits that are always 0; bits past the width count as 0
  std::uint64_t ones = 0;    // bits that are always 1
  std::optional<Anchor> anchor;
  bool operator==(const AbstractValue&) const = default;

  std::optional<std::uint64_t> constant() const {
    if ((zeros | ones) != ~std::uint64_t{0}) return std::nullopt;
    return ones;
  }
};

// A thread of a one-dimensional block, or any of a warp when the lane is not given.
struct BlockThread {
  std::uint32_t warp = 0;
  std::optional<std::uint32_t> lane;
};

class RegisterValues {
 public:
  // In whatever thread.
  explicit RegisterValues(const Function& function) : RegisterValues(function, std::nullopt, nullptr) {}

  // In one thread, or in any of a warp. elect.sync elects lane 0. `of_warp`, which shfl.sync takes the
  // values of other lanes from, is null for a whole warp; otherwise it must hold for the thread's warp.
  RegisterValues(const Function& function, std::optional<BlockThread> thread, const RegisterValues* of_warp);

  // Of a register, literal or symbol; anything else is unknown.
  AbstractValue of(const Operand& operand) const;
  std::optional<std::uint64_t> constant(const Operand& operand) const { return of(operand).constant(); }
  // Of the base plus its offset.
  std::optional<Anchor> anchor(const Address& address) const;
  // The kernel parameter that the tensor map of a TMA load lies in.
  std::optional<std::uint32_t> tensor_map_parameter(const Instruction& load) const;

 private:
  AbstractValue evaluate(const Instruction& instruction) const;
  AbstractValue special_register(const std::string& name) const;
  AbstractValue shuffled(const Instruction& instruction) const;
  AbstractValue elected() const;
  AbstractValue compared(const Instruction& instruction) const;
  // Whether nothing more can be lost: no further value of it changes what is known.
  bool is_given_up(const Operand& destination) const;
  void write(const Operand& destination, const AbstractValue& value, bool widen, bool& changed);
  void join(std::uint32_t reg, AbstractValue value, bool widen, bool& changed);

  const Function& function_;
  std::optional<BlockThread> thread_;
  const RegisterValues* of_warp_;
  std::vector<AbstractValue> values_;
};

}  // namespace mlaindex::ptx
