// A PTX module in memory: what the parser makes, the passes edit, the printer writes and the
// emulator executes.
//
// Names are resolved: a register operand is a dense index into Function::registers, a branch target
// an index into Function::labels, whose entry holds an index into the flat Function::instructions.
// Order and nesting, which only printing needs, are in Function::body and Module::items.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/ptx/operand.h"
#include "generator/ptx/scalar_type.h"

namespace mlaindex::ptx {

// One-based position in the parsed text; 0 where a pass made the object. Two modules are equal
// whatever their layout, so positions take no part in comparisons.
struct SourceLocation {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  friend bool operator==(const SourceLocation&, const SourceLocation&) { return true; }
};

// "mbarrier.try_wait.parity.shared::cta.b64": name "mbarrier", modifiers {"try_wait", "parity",
// "shared::cta", "b64"}, kept in the order and spelling of the text.
struct Opcode {
  std::string name;
  std::vector<std::string> modifiers;

  bool operator==(const Opcode&) const = default;
  bool has(std::string_view modifier) const noexcept;
  std::string text() const;  // joined with dots again
};

// `@%p` or `@!%p`.
struct Guard {
  std::uint32_t register_index = kNoIndex;
  bool negated = false;
  bool operator==(const Guard&) const = default;
};

struct Instruction {
  Opcode opcode;
  std::optional<Guard> guard;
  std::vector<Operand> operands;  // destination first, as written
  std::uint32_t scope = 0;        // index into Function::scopes
  SourceLocation location;
  bool operator==(const Instruction&) const = default;
};

// One register that the function refers to. Registers that are declared and never used have none.
struct Register {
  std::string name;  // "%r12"; not unique: inline-asm scopes declare their own
  ScalarType type = ScalarType::b32;
  std::uint32_t scope = 0;
  bool operator==(const Register&) const = default;
};

struct Label {
  std::string name;  // not unique, like register names
  std::uint32_t scope = 0;
  std::uint32_t instruction = 0;  // the instruction after it; instructions.size() at the end
  SourceLocation location;
  bool operator==(const Label&) const = default;
};

// `.reg .b32 %r<41>, a, b;`
struct RegisterDeclaration {
  struct Name {
    std::string name;
    std::uint32_t count = 0;  // 0 for a single register, N for name<N>
    bool operator==(const Name&) const = default;
  };
  ScalarType type = ScalarType::b32;
  std::vector<Name> names;
  SourceLocation location;
  bool operator==(const RegisterDeclaration&) const = default;
};

// One element of `= {...}`: a number as written, or the address of a symbol.
struct Initialiser {
  std::string text;       // "0f3F800000", "255", or the symbol's name
  bool is_symbol = false;
  bool is_generic = false;  // generic(name)
  std::int64_t offset = 0;  // name+offset
  bool operator==(const Initialiser&) const = default;
};

// A declaration in any memory space, parameters included.
struct Variable {
  struct PointerAttribute {  // `.ptr .global .align 16` of a parameter
    std::optional<StateSpace> space;
    std::uint32_t alignment = 0;  // 0: not given
    bool operator==(const PointerAttribute&) const = default;
  };

  std::string name;
  std::string linkage;               // "", "visible", "extern", "weak" or "common"
  StateSpace space = StateSpace::global;
  ScalarType type = ScalarType::b8;
  std::uint32_t vector_width = 1;    // 2 or 4 for .v2, .v4
  std::uint32_t alignment = 0;       // bytes; 0: not given, so natural
  std::vector<std::uint64_t> dimensions;  // empty: scalar; an entry of 0: unsized, `[]`
  std::vector<std::string> attributes;    // "managed", ...
  std::optional<PointerAttribute> pointer;
  std::vector<Initialiser> initialisers;
  bool braced_initialiser = false;
  SourceLocation location;

  bool operator==(const Variable&) const = default;
  // Bytes of storage (0 when unsized) and effective alignment in bytes.
  std::uint64_t size_bytes() const noexcept;
  std::uint32_t effective_alignment() const noexcept;
};

// A directive that declares nothing: `.maxntid 384, 1, 1`, `.pragma "nounroll"`, `.loc`, `.file`.
// Debug directives and sections keep their text verbatim in `arguments[0]`.
struct Directive {
  std::string name;  // without the dot
  std::vector<std::string> arguments;
  SourceLocation location;
  bool operator==(const Directive&) const = default;
};

// `name: .branchtargets L1, L2;`, for brx.idx.
struct BranchTable {
  std::string name;
  std::uint32_t scope = 0;
  std::vector<std::uint32_t> labels;
  SourceLocation location;
  bool operator==(const BranchTable&) const = default;
};

// `{ ... }`. Scope 0 is the function's body and its own parent.
struct Scope {
  std::uint32_t parent = 0;
  bool operator==(const Scope&) const = default;
};

// An element of a function's body in the order of the text; `index` is into the list named.
struct Statement {
  enum class Kind : std::uint8_t {
    scope_begin,   // scopes
    scope_end,     // scopes
    registers,     // register_declarations
    variable,      // variables
    label,         // labels
    instruction,   // instructions
    branch_table,  // branch_tables
    directive,     // directives
  };
  Kind kind = Kind::instruction;
  std::uint32_t index = 0;
  bool operator==(const Statement&) const = default;
};

struct Function {
  std::string name;
  std::string linkage;
  bool is_entry = false;
  bool has_body = false;             // false: a prototype
  std::vector<Variable> results;     // of a .func
  std::vector<Variable> parameters;
  std::vector<Directive> performance;  // between the parameters and the body: .maxntid, ...

  std::vector<Register> registers;
  std::vector<Label> labels;
  std::vector<Instruction> instructions;
  std::vector<Scope> scopes;
  std::vector<RegisterDeclaration> register_declarations;
  std::vector<Variable> variables;  // .shared, .local and .param declared inside the body
  std::vector<BranchTable> branch_tables;
  std::vector<Directive> directives;
  std::vector<Statement> body;  // without the outermost braces
  SourceLocation location;

  bool operator==(const Function&) const = default;
  // Nothing when the function has no such performance directive.
  const Directive* find_performance(std::string_view directive) const noexcept;
};

// An element of the module in the order of the text.
struct ModuleItem {
  enum class Kind : std::uint8_t { variable, function, directive };
  Kind kind = Kind::variable;
  std::uint32_t index = 0;
  bool operator==(const ModuleItem&) const = default;
};

struct Module {
  std::string version;               // "9.0"
  std::vector<std::string> targets;  // {"sm_100a"}, then options such as "debug"
  std::uint32_t address_size = 64;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<Directive> directives;  // .file, .section, .pragma
  std::vector<ModuleItem> items;

  bool operator==(const Module&) const = default;
  const Function* find_function(std::string_view name) const noexcept;
};

}  // namespace mlaindex::ptx
