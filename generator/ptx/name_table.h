// Names and the scopes that hide them, while one function is parsed. Private to the parser.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "generator/ptx/module.h"

namespace mlaindex::ptx {

struct NamedObject {
  enum class Kind : std::uint8_t { reg, label, symbol };
  Kind kind = Kind::symbol;
  ScalarType type = ScalarType::b32;                  // of a register
  SymbolTable table = SymbolTable::module_variable;   // of a symbol
  std::uint32_t index = kNoIndex;  // kNoIndex: a register that nothing has used yet
};

// Scopes of a function body. Names are views of the parsed text.
class NameTable {
 public:
  // `function` gets an entry in `registers` at the first use of a declared register.
  explicit NameTable(Function& function) : function_(function), scopes_(1) {}

  // Scopes mirror Function::scopes; entering one makes it the current scope.
  void enter(std::uint32_t scope);
  void leave() { current_ = function_.scopes[current_].parent; }
  std::uint32_t current() const noexcept { return current_; }

  // False when the name is taken in the current scope.
  bool declare(std::string_view name, const NamedObject& object);
  // `prefix<count>`: registers prefix0 .. prefix(count-1).
  bool declare_registers(std::string_view prefix, std::uint32_t count, ScalarType type);

  // Looks from the current scope outwards. A register is given its index.
  std::optional<NamedObject> find(std::string_view name);
  // Looks for a label only, from `scope` outwards.
  std::optional<std::uint32_t> find_label(std::string_view name, std::uint32_t scope) const;

 private:
  struct RegisterRange {
    std::uint32_t count = 0;
    ScalarType type = ScalarType::b32;
  };
  struct Names {
    std::unordered_map<std::string_view, NamedObject> objects;
    std::unordered_map<std::string_view, RegisterRange> ranges;
  };

  const RegisterRange* find_range(const Names& names, std::string_view name) const;

  Function& function_;
  std::vector<Names> scopes_;
  std::uint32_t current_ = 0;
};

}  // namespace mlaindex::ptx
