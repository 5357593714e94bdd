// Operands of an instruction, with every name already resolved.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace mlaindex::ptx {

inline constexpr std::uint32_t kNoIndex = ~std::uint32_t{0};

// `_`, a destination that is thrown away.
struct Sink {
  bool operator==(const Sink&) const = default;
};

// Index into Function::registers.
struct RegisterRef {
  std::uint32_t index = kNoIndex;
  bool operator==(const RegisterRef&) const = default;
};

// `first|second`, such as the value and predicate of shfl.sync; kNoIndex stands for `_`.
struct RegisterPair {
  std::uint32_t first = kNoIndex;
  std::uint32_t second = kNoIndex;
  bool operator==(const RegisterPair&) const = default;
};

// An integer literal. `value` holds its 64 bits (negative literals in two's complement).
struct IntegerLiteral {
  std::uint64_t value = 0;
  std::string text;  // as written: "0x3f", "-4", "4611756662049472512"
  bool operator==(const IntegerLiteral&) const = default;
};

// A floating literal: 0f (f32 bits), 0d (f64 bits) or decimal (f64 bits).
struct FloatLiteral {
  std::uint64_t bits = 0;
  bool is_f32 = false;  // bits are those of an f32, in the low half
  std::string text;
  bool operator==(const FloatLiteral&) const = default;
};

// Index into Function::labels.
struct LabelRef {
  std::uint32_t index = kNoIndex;
  bool operator==(const LabelRef&) const = default;
};

// Where the declaration of a symbol is kept.
enum class SymbolTable : std::uint8_t {
  module_variable,  // Module::variables
  parameter,        // Function::parameters
  result,           // Function::results
  local_variable,   // Function::variables
  function,         // Module::functions
  branch_table,     // Function::branch_tables
  prototype,        // Function::directives: a .callprototype
};

// The address of a declared variable or function, plus `offset` bytes.
struct SymbolRef {
  SymbolTable table = SymbolTable::module_variable;
  std::uint32_t index = kNoIndex;
  std::int64_t offset = 0;
  bool operator==(const SymbolRef&) const = default;
};

// A predefined register or constant, as written: "%tid.x", "%clock64", "WARP_SZ".
struct SpecialRegister {
  std::string name;
  bool operator==(const SpecialRegister&) const = default;
};

struct Operand;

// `{a, b, ...}` (a vector, coordinates, a lane mask) or, for calls, `(a, b, ...)`.
struct OperandList {
  bool parenthesised = false;
  std::vector<Operand> elements;
  bool operator==(const OperandList&) const;
};

// `[base+offset]`, or the tensor form `[base+offset, {coordinates}]`. The base is a register, a
// symbol (its own offset is then zero) or an absolute address (IntegerLiteral).
struct Address {
  std::variant<RegisterRef, SymbolRef, IntegerLiteral> base;
  std::int64_t offset = 0;
  bool has_offset = false;  // `[a+0]` and `[a]` are not the same to the assembler's debug mode
  std::vector<Operand> coordinates;  // empty unless in the tensor form
  bool operator==(const Address&) const;
};

struct Operand {
  std::variant<Sink, RegisterRef, RegisterPair, IntegerLiteral, FloatLiteral, LabelRef, SymbolRef,
               SpecialRegister, OperandList, Address>
      value;
  bool negated = false;  // `!%p`, only on a register

  bool operator==(const Operand&) const = default;

  template <class T>
  const T* as() const noexcept { return std::get_if<T>(&value); }
  template <class T>
  T* as() noexcept { return std::get_if<T>(&value); }
};

inline bool OperandList::operator==(const OperandList& other) const {
  return parenthesised == other.parenthesised && elements == other.elements;
}

inline bool Address::operator==(const Address& other) const {
  return base == other.base && offset == other.offset && has_offset == other.has_offset &&
         coordinates == other.coordinates;
}

}  // namespace mlaindex::ptx
