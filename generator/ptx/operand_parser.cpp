#include "generator/ptx/operand_parser.h"

#include <bit>

#include "generator/ptx/special_registers.h"

namespace mlaindex::ptx {
namespace {

// The bits of 0f or 0d literals and of decimals; nothing when malformed.
bool read_float(llvm::StringRef text, FloatLiteral& literal) {
  llvm::StringRef digits = text;
  literal.is_f32 = digits.consume_front_insensitive("0f");
  if (literal.is_f32 || digits.consume_front_insensitive("0d"))
    return digits.size() == (literal.is_f32 ? 8u : 16u) && !digits.getAsInteger(16, literal.bits);
  double value = 0;
  if (digits.getAsDouble(value)) return false;
  literal.bits = std::bit_cast<std::uint64_t>(value);
  return true;
}

}  // namespace

bool OperandParser::parse_operands(bool branch, std::vector<Operand>& operands) {
  branch_ = branch;
  if (tokens_.at(';')) return true;
  do {
    if (!parse_operand(operands.emplace_back())) return false;
  } while (tokens_.accept(','));
  return true;
}

bool OperandParser::parse_register(std::uint32_t& index) {
  const Token token = tokens_.token();
  llvm::StringRef name;
  if (!tokens_.expect_name("a register", name)) return false;
  const auto object = names_.find(name);
  if (!object || object->kind != NamedObject::Kind::reg)
    return tokens_.fail(token, "'" + name + "' is not a declared register");
  index = object->index;
  return true;
}

bool OperandParser::parse_operand(Operand& operand) {
  if (tokens_.accept('[')) return parse_address(operand.value.emplace<Address>());
  if (tokens_.at('{') || tokens_.at('(')) {
    OperandList& list = operand.value.emplace<OperandList>();
    list.parenthesised = tokens_.take().is('(');
    return parse_list(list.parenthesised ? ')' : '}', list.elements);
  }
  return parse_element(operand);
}

// Anything but lists and addresses.
bool OperandParser::parse_element(Operand& operand) {
  if (tokens_.accept('!')) {
    operand.negated = true;
    return parse_register(operand.value.emplace<RegisterRef>().index);
  }
  const bool negative = tokens_.accept('-');
  const Token::Kind kind = tokens_.token().kind;
  if (kind == Token::Kind::integer || kind == Token::Kind::floating)
    return parse_number(negative, operand);
  if (kind == Token::Kind::word && !negative) {
    if (!parse_word(operand)) return false;
    SymbolRef* symbol = operand.as<SymbolRef>();
    return !symbol || parse_offset(symbol->offset);
  }
  return tokens_.fail("expected an operand, found '" + tokens_.token().text + "'");
}

bool OperandParser::parse_number(bool negative, Operand& operand) {
  const Token token = tokens_.take();
  const std::string text = (llvm::Twine(negative ? "-" : "") + token.text).str();
  if (token.kind == Token::Kind::floating) {
    FloatLiteral& literal = operand.value.emplace<FloatLiteral>();
    literal.text = text;
    if (!read_float(token.text, literal))
      return tokens_.fail(token, "malformed number '" + token.text + "'",
                          "f32 bits are 0f and 8 hex digits, f64 bits are 0d and 16");
    if (negative) literal.bits ^= std::uint64_t{1} << (literal.is_f32 ? 31 : 63);
    return true;
  }
  const auto value = integer_value(token.text);
  if (!value) return tokens_.fail(token, "malformed integer '" + token.text + "'");
  IntegerLiteral& literal = operand.value.emplace<IntegerLiteral>();
  literal.text = text;
  literal.value = negative ? 0 - *value : *value;
  return true;
}

bool OperandParser::name_label(const Token& name, Operand& operand) {
  operand.value = LabelRef{static_cast<std::uint32_t>(forwards_.size())};
  forwards_.push_back({name, names_.current()});
  return true;
}

bool OperandParser::parse_word(Operand& operand) {
  const Token token = tokens_.take();
  const llvm::StringRef name = token.text;
  if (branch_) return name_label(token, operand);
  if (name == "_") return !tokens_.at('|') || parse_pair(kNoIndex, operand);
  auto object = names_.find(name);
  if (!object) {
    const auto symbol = symbols_.find(name);
    if (symbol != symbols_.end()) object = symbol->second;
  }
  if (!object) {
    if (is_special_register(name)) {
      operand.value = SpecialRegister{name.str()};
      return true;
    }
    if (name.contains('.') || name.starts_with("%"))
      return tokens_.fail(token, "'" + name + "' is not a declared register");
    return name_label(token, operand);
  }
  switch (object->kind) {
    case NamedObject::Kind::reg:
      operand.value = RegisterRef{object->index};
      return !tokens_.at('|') || parse_pair(object->index, operand);
    case NamedObject::Kind::label:
      return name_label(token, operand);
    case NamedObject::Kind::symbol:
      operand.value = SymbolRef{object->table, object->index, 0};
      return true;
  }
  return false;
}

// `first|second`, from the bar on. `_|_` throws both away.
bool OperandParser::parse_pair(std::uint32_t first, Operand& operand) {
  tokens_.take();
  RegisterPair pair;
  pair.first = first;
  if (tokens_.token().text == "_") tokens_.take();
  else if (!parse_register(pair.second)) return false;
  operand.value = pair;
  return true;
}

bool OperandParser::parse_list(char close, std::vector<Operand>& elements) {
  if (tokens_.accept(close)) return true;
  do {
    if (!parse_element(elements.emplace_back())) return false;
  } while (tokens_.accept(','));
  return tokens_.expect(close);
}

// `+8`, `-8` or `+-8`; nothing is an offset of 0.
bool OperandParser::parse_offset(std::int64_t& offset) {
  if (!tokens_.at('+') && !tokens_.at('-')) return true;
  bool negative = tokens_.take().is('-');
  if (!negative) negative = tokens_.accept('-');
  std::uint64_t magnitude = 0;
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 62;
  if (!tokens_.expect_unsigned("an offset", kLimit, magnitude)) return false;
  offset = negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
  return true;
}

// From after the opening bracket.
bool OperandParser::parse_address(Address& address) {
  const Token token = tokens_.token();
  Operand base;
  if (!(token.kind == Token::Kind::word ? parse_word(base) : parse_element(base))) return false;
  if (const RegisterRef* reg = base.as<RegisterRef>(); reg && !base.negated) {
    address.base = *reg;
  } else if (const SymbolRef* symbol = base.as<SymbolRef>()) {
    address.base = *symbol;
  } else if (const IntegerLiteral* literal = base.as<IntegerLiteral>()) {
    address.base = *literal;
  } else if (base.as<LabelRef>()) {
    return tokens_.fail(token, "'" + token.text + "' is not declared");
  } else {
    return tokens_.fail(token, "'" + token.text + "' cannot be the base of an address");
  }
  address.has_offset = tokens_.at('+') || tokens_.at('-');
  if (!parse_offset(address.offset)) return false;
  if (tokens_.accept(',') && !(tokens_.expect('{') && parse_list('}', address.coordinates)))
    return false;
  return tokens_.expect(']');
}

}  // namespace mlaindex::ptx
