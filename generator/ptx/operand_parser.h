// Operands of one instruction. Private to the parser.
#pragma once

#include <unordered_map>
#include <vector>

#include "generator/ptx/name_table.h"
#include "generator/ptx/token_stream.h"

namespace mlaindex::ptx {

// Variables and functions of the module, by name.
using ModuleSymbols = std::unordered_map<std::string_view, NamedObject>;

class OperandParser {
 public:
  OperandParser(TokenStream& tokens, NameTable& names, const ModuleSymbols& symbols)
      : tokens_(tokens), names_(names), symbols_(symbols) {}

  // Operands up to the semicolon, which stays. When `branch` is set, names are labels only.
  bool parse_operands(bool branch, std::vector<Operand>& operands);
  // The register of a guard, or of `!%p`.
  bool parse_register(std::uint32_t& index);

  // A name that nothing before it declares: a label further down, or an error.
  struct Forward {
    Token token;
    std::uint32_t scope = 0;
  };
  // Labels are numbered only once all are known: an operand that names one holds, until resolved,
  // its place in this list.
  const std::vector<Forward>& forwards() const { return forwards_; }

 private:
  bool parse_operand(Operand& operand);
  bool parse_element(Operand& operand);
  bool parse_word(Operand& operand);
  bool name_label(const Token& name, Operand& operand);
  bool parse_list(char close, std::vector<Operand>& elements);
  bool parse_address(Address& address);
  bool parse_pair(std::uint32_t first, Operand& operand);
  bool parse_number(bool negative, Operand& operand);
  bool parse_offset(std::int64_t& offset);

  TokenStream& tokens_;
  NameTable& names_;
  const ModuleSymbols& symbols_;
  std::vector<Forward> forwards_;
  bool branch_ = false;
};

}  // namespace mlaindex::ptx
