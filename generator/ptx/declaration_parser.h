// Declarations: variables, parameters, and directives that declare nothing. Private to the parser.
#pragma once

#include <vector>

#include "generator/ptx/token_stream.h"

namespace mlaindex::ptx {

class DeclarationParser {
 public:
  explicit DeclarationParser(TokenStream& tokens) : tokens_(tokens) {}

  // True when a declaration of a variable starts at the current token.
  bool at_variable() const;

  // `.global .align 8 .u64 a[2] = {1, 2}, b;` up to and with its semicolon. Names live in the text.
  bool parse_variables(llvm::StringRef linkage, std::vector<Variable>& variables,
                       std::vector<llvm::StringRef>& names);
  // One parameter of a function, without the comma or parenthesis after it.
  bool parse_parameter(Variable& variable, llvm::StringRef& name);
  // `.maxntid 384, 1, 1` or `.pragma "nounroll"`, without a semicolon after it.
  bool parse_directive(Directive& directive);

 private:
  bool parse_type(Variable& variable);
  bool parse_pointer(Variable& variable);
  bool parse_attributes(Variable& variable);
  bool parse_alignment(std::uint32_t& alignment);
  bool parse_dimensions(Variable& variable);
  bool parse_initialisers(Variable& variable);
  bool parse_initialiser(Initialiser& initialiser);

  TokenStream& tokens_;
};

}  // namespace mlaindex::ptx
