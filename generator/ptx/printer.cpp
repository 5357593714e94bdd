#include "generator/ptx/printer.h"

#include <llvm/Support/raw_ostream.h>

namespace mlaindex::ptx {
namespace {

using llvm::raw_ostream;

class Printer {
 public:
  Printer(raw_ostream& out, const Module& module) : out_(out), module_(module) {}

  void print_module() {
    out_ << ".version " << module_.version << "\n.target ";
    print_joined(module_.targets);
    out_ << "\n.address_size " << module_.address_size << "\n\n";
    for (const ModuleItem& item : module_.items) {
      switch (item.kind) {
        case ModuleItem::Kind::variable:
          print_variable(module_.variables[item.index]);
          out_ << ";\n";
          break;
        case ModuleItem::Kind::function: print_function(module_.functions[item.index]); break;
        case ModuleItem::Kind::directive: print_module_directive(module_.directives[item.index]); break;
      }
    }
  }

  void print_instruction(const Instruction& instruction, const Function& function) {
    if (instruction.guard) {
      out_ << (instruction.guard->negated ? "@!" : "@");
      print_register(instruction.guard->register_index, function);
      out_ << ' ';
    }
    out_ << instruction.opcode.text();
    if (!instruction.operands.empty()) out_ << ' ';
    print_operands(instruction.operands, function);
    out_ << ';';
  }

 private:
  template <class List>
  void print_joined(const List& list) {
    const char* separator = "";
    for (const auto& element : list) {
      out_ << separator << element;
      separator = ", ";
    }
  }

  void print_operands(const std::vector<Operand>& operands, const Function& function) {
    const char* separator = "";
    for (const Operand& operand : operands) {
      out_ << separator;
      separator = ", ";
      print_operand(operand, function);
    }
  }

  void print_register(std::uint32_t index, const Function& function) {
    if (index == kNoIndex) out_ << '_';
    else out_ << function.registers[index].name;
  }

  void print_offset(std::int64_t offset) {
    if (offset != 0) out_ << '+' << offset;  // "+-8" is how the compiler writes it, too
  }

  const std::string& symbol_name(const SymbolRef& symbol, const Function& function) {
    switch (symbol.table) {
      case SymbolTable::module_variable: return module_.variables[symbol.index].name;
      case SymbolTable::parameter: return function.parameters[symbol.index].name;
      case SymbolTable::result: return function.results[symbol.index].name;
      case SymbolTable::local_variable: return function.variables[symbol.index].name;
      case SymbolTable::function: return module_.functions[symbol.index].name;
      case SymbolTable::branch_table: return function.branch_tables[symbol.index].name;
      case SymbolTable::prototype: break;
    }
    return function.directives[symbol.index].arguments.front();
  }

  void print_address(const Address& address, const Function& function) {
    out_ << '[';
    if (const auto* reg = std::get_if<RegisterRef>(&address.base)) print_register(reg->index, function);
    else if (const auto* symbol = std::get_if<SymbolRef>(&address.base))
      out_ << symbol_name(*symbol, function);
    else out_ << std::get_if<IntegerLiteral>(&address.base)->text;
    if (address.has_offset) out_ << '+' << address.offset;
    if (!address.coordinates.empty()) {
      out_ << ", {";
      print_operands(address.coordinates, function);
      out_ << '}';
    }
    out_ << ']';
  }

  void print_operand(const Operand& operand, const Function& function) {
    if (operand.negated) out_ << '!';
    if (operand.as<Sink>()) {
      out_ << '_';
    } else if (const auto* reg = operand.as<RegisterRef>()) {
      print_register(reg->index, function);
    } else if (const auto* pair = operand.as<RegisterPair>()) {
      print_register(pair->first, function);
      out_ << '|';
      print_register(pair->second, function);
    } else if (const auto* integer = operand.as<IntegerLiteral>()) {
      out_ << integer->text;
    } else if (const auto* floating = operand.as<FloatLiteral>()) {
      out_ << floating->text;
    } else if (const auto* label = operand.as<LabelRef>()) {
      out_ << function.labels[label->index].name;
    } else if (const auto* symbol = operand.as<SymbolRef>()) {
      out_ << symbol_name(*symbol, function);
      print_offset(symbol->offset);
    } else if (const auto* special = operand.as<SpecialRegister>()) {
      out_ << special->name;
    } else if (const auto* list = operand.as<OperandList>()) {
      out_ << (list->parenthesised ? '(' : '{');
      print_operands(list->elements, function);
      out_ << (list->parenthesised ? ')' : '}');
    } else if (const auto* address = operand.as<Address>()) {
      print_address(*address, function);
    }
  }

  void print_initialiser(const Initialiser& initialiser) {
    out_ << (initialiser.is_generic ? "generic(" : "") << initialiser.text
         << (initialiser.is_generic ? ")" : "");
    print_offset(initialiser.offset);
  }

  void print_variable(const Variable& variable) {
    if (!variable.linkage.empty()) out_ << '.' << variable.linkage << ' ';
    out_ << '.' << spelling(variable.space);
    for (const std::string& attribute : variable.attributes) out_ << " .attribute(" << attribute << ')';
    if (variable.alignment != 0) out_ << " .align " << variable.alignment;
    if (variable.vector_width != 1) out_ << " .v" << variable.vector_width;
    out_ << " ." << spelling(variable.type);
    if (variable.pointer) {
      out_ << " .ptr";
      if (variable.pointer->space) out_ << " ." << spelling(*variable.pointer->space);
      if (variable.pointer->alignment != 0) out_ << " .align " << variable.pointer->alignment;
    }
    out_ << ' ' << variable.name;
    for (std::uint64_t dimension : variable.dimensions) {
      out_ << '[';
      if (dimension != 0) out_ << dimension;
      out_ << ']';
    }
    if (variable.initialisers.empty() && !variable.braced_initialiser) return;
    out_ << (variable.braced_initialiser ? " = {" : " = ");
    const char* separator = "";
    for (const Initialiser& initialiser : variable.initialisers) {
      out_ << separator;
      separator = ", ";
      print_initialiser(initialiser);
    }
    if (variable.braced_initialiser) out_ << '}';
  }

  void print_directive(const Directive& directive) {
    out_ << '.' << directive.name << (directive.arguments.empty() ? "" : " ");
    print_joined(directive.arguments);
  }

  void print_module_directive(const Directive& directive) {
    if (directive.name == "section") {
      out_ << ".section " << directive.arguments[0] << " {\n" << directive.arguments[1] << "\n}\n";
      return;
    }
    print_directive(directive);
    out_ << (directive.name == "pragma" ? ";\n" : "\n");
  }

  void print_parameters(const std::vector<Variable>& parameters) {
    out_ << '(';
    const char* separator = "\n  ";
    for (const Variable& parameter : parameters) {
      out_ << separator;
      separator = ",\n  ";
      print_variable(parameter);
    }
    out_ << (parameters.empty() ? ")" : "\n)");
  }

  void print_function(const Function& function) {
    if (!function.linkage.empty()) out_ << '.' << function.linkage << ' ';
    out_ << (function.is_entry ? ".entry " : ".func ");
    if (!function.results.empty()) {
      print_parameters(function.results);
      out_ << ' ';
    }
    out_ << function.name;
    print_parameters(function.parameters);
    for (const Directive& directive : function.performance) {
      out_ << '\n';
      print_directive(directive);
      if (directive.name == "pragma") out_ << ';';
    }
    if (!function.has_body) {
      out_ << ";\n";
      return;
    }
    out_ << "\n{\n";
    std::size_t depth = 1;
    for (const Statement& statement : function.body) print_statement(statement, function, depth);
    out_ << "}\n";
  }

  void print_statement(const Statement& statement, const Function& function, std::size_t& depth) {
    constexpr std::size_t kIndent = 2;
    if (statement.kind == Statement::Kind::scope_end) --depth;
    if (statement.kind != Statement::Kind::label) out_.indent(static_cast<unsigned>(kIndent * depth));
    switch (statement.kind) {
      case Statement::Kind::scope_begin:
        ++depth;
        out_ << '{';
        break;
      case Statement::Kind::scope_end: out_ << '}'; break;
      case Statement::Kind::registers:
        print_registers(function.register_declarations[statement.index]);
        break;
      case Statement::Kind::variable:
        print_variable(function.variables[statement.index]);
        out_ << ';';
        break;
      case Statement::Kind::label: out_ << function.labels[statement.index].name << ':'; break;
      case Statement::Kind::instruction:
        print_instruction(function.instructions[statement.index], function);
        break;
      case Statement::Kind::branch_table:
        print_branch_table(function.branch_tables[statement.index], function);
        break;
      case Statement::Kind::directive: print_body_directive(function.directives[statement.index]); break;
    }
    out_ << '\n';
  }

  void print_registers(const RegisterDeclaration& declaration) {
    out_ << ".reg ." << spelling(declaration.type) << ' ';
    const char* separator = "";
    for (const RegisterDeclaration::Name& name : declaration.names) {
      out_ << separator << name.name;
      separator = ", ";
      if (name.count != 0) out_ << '<' << name.count << '>';
    }
    out_ << ';';
  }

  void print_branch_table(const BranchTable& table, const Function& function) {
    out_ << table.name << ": .branchtargets ";
    const char* separator = "";
    for (std::uint32_t label : table.labels) {
      out_ << separator << function.labels[label].name;
      separator = ", ";
    }
    out_ << ';';
  }

  void print_body_directive(const Directive& directive) {
    if (directive.name == "callprototype" || directive.name == "calltargets") {
      out_ << directive.arguments[0] << ": ." << directive.name << ' ' << directive.arguments[1] << ';';
      return;
    }
    print_directive(directive);
    if (directive.name == "pragma") out_ << ';';
  }

  raw_ostream& out_;
  const Module& module_;
};

}  // namespace

std::string print(const Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  Printer(stream, module).print_module();
  return stream.str();
}

std::string print(const Instruction& instruction, const Function& function, const Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  Printer(stream, module).print_instruction(instruction, function);
  return stream.str();
}

}  // namespace mlaindex::ptx
