// One .entry or .func: header, performance directives and body. Private to the parser.
#pragma once

#include "generator/ptx/declaration_parser.h"
#include "generator/ptx/operand_parser.h"

namespace mlaindex::ptx {

class FunctionParser {
 public:
  FunctionParser(TokenStream& tokens, const ModuleSymbols& symbols, Function& function)
      : tokens_(tokens),
        declarations_(tokens),
        function_(function),
        names_(function),
        operands_(tokens, names_, symbols) {}

  // From after `.entry` or `.func`; `name` is a view of the text.
  bool parse_header(llvm::StringRef& name);
  // The body, or the semicolon of a prototype. Call after parse_header.
  bool parse_body();

 private:
  bool parse_parameters(std::vector<Variable>& variables, SymbolTable table);
  bool parse_performance();
  bool parse_statement();
  bool open_scope();
  bool close_scope();
  bool parse_registers();
  bool parse_local_variables();
  bool parse_body_directive();
  bool parse_label(const Token& name);
  bool parse_branch_table(const Token& name);
  bool parse_prototype(const Token& name);
  bool parse_instruction();
  bool resolve_labels();

  bool declare(const Token& at, llvm::StringRef name, const NamedObject& object);
  void append(Statement::Kind kind, std::size_t index) {
    function_.body.push_back({kind, static_cast<std::uint32_t>(index)});
  }

  struct TableFixup {
    std::uint32_t table = 0;
    std::vector<Token> labels;
  };

  TokenStream& tokens_;
  DeclarationParser declarations_;
  Function& function_;
  NameTable names_;
  OperandParser operands_;
  std::vector<TableFixup> table_fixups_;
  std::uint32_t depth_ = 0;  // of open braces inside the body
};

}  // namespace mlaindex::ptx
