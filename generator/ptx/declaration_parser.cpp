#include "generator/ptx/declaration_parser.h"

#include <algorithm>


namespace mlaindex::ptx {
namespace {

// Larger than any memory space, small enough that sizes never overflow.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;

llvm::StringRef undotted(const Token& token) { return token.text.drop_front(); }

}  // namespace

bool DeclarationParser::at_variable() const {
  const Token& token = tokens_.token();
  return token.kind == Token::Kind::directive && state_space(undotted(token)).has_value();
}

bool DeclarationParser::parse_alignment(std::uint32_t& alignment) {
  std::uint64_t value = 0;
  const Token at = tokens_.token();
  if (!tokens_.expect_unsigned("an alignment in bytes", 1u << 16, value)) return false;
  if (value == 0 || (value & (value - 1)) != 0)
    return tokens_.fail(at, "alignment " + at.text + " is not a power of two");
  alignment = static_cast<std::uint32_t>(value);
  return true;
}

bool DeclarationParser::parse_attributes(Variable& variable) {
  if (!tokens_.expect('(')) return false;
  if (!tokens_.take_words_until(')', variable.attributes.emplace_back())) return false;
  return tokens_.expect(')');
}

bool DeclarationParser::parse_pointer(Variable& variable) {
  Variable::PointerAttribute pointer;
  if (const Token& token = tokens_.token(); token.kind == Token::Kind::directive) {
    pointer.space = state_space(undotted(token));
    if (pointer.space) tokens_.take();
  }
  if (tokens_.accept_directive("align") && !parse_alignment(pointer.alignment)) return false;
  variable.pointer = pointer;
  return true;
}

// The state space and everything between it and the name.
bool DeclarationParser::parse_type(Variable& variable) {
  variable.space = *state_space(undotted(tokens_.take()));
  bool typed = false;
  while (tokens_.token().kind == Token::Kind::directive) {
    const Token token = tokens_.take();
    const llvm::StringRef text = undotted(token);
    if (text == "align") {
      if (!parse_alignment(variable.alignment)) return false;
    } else if (text == "attribute") {
      if (!parse_attributes(variable)) return false;
    } else if (text == "ptr" && variable.space == StateSpace::param) {
      if (!parse_pointer(variable)) return false;
    } else if (text == "v2" || text == "v4") {
      variable.vector_width = text == "v2" ? 2 : 4;
    } else if (const auto type = scalar_type(text); type && *type != ScalarType::pred && !typed) {
      variable.type = *type;
      typed = true;
    } else {
      return tokens_.fail(token, "'" + token.text + "' does not belong in this declaration");
    }
  }
  return typed || tokens_.fail("expected a type, found '" + tokens_.token().text + "'");
}

bool DeclarationParser::parse_dimensions(Variable& variable) {
  const Token at = tokens_.token();
  std::uint64_t bytes = variable.vector_width * ((bit_width(variable.type) + 7) / 8);
  while (tokens_.accept('[')) {
    std::uint64_t dimension = 0;
    if (!tokens_.at(']') && !tokens_.expect_unsigned("an array size", kMaxBytes, dimension))
      return false;
    if (dimension > 0 && bytes > kMaxBytes / dimension)
      return tokens_.fail(at, "this array is larger than any memory space");
    bytes *= std::max<std::uint64_t>(dimension, 1);
    variable.dimensions.push_back(dimension);
    if (!tokens_.expect(']')) return false;
  }
  return true;
}

bool DeclarationParser::parse_initialiser(Initialiser& initialiser) {
  const bool negative_number = tokens_.accept('-');
  const Token token = tokens_.take();
  initialiser.text = (llvm::Twine(negative_number ? "-" : "") + token.text).str();
  if (token.kind == Token::Kind::integer) {
    if (integer_value(token.text)) return true;
    return tokens_.fail(token, "malformed integer '" + token.text + "'");
  }
  if (token.kind == Token::Kind::floating) return true;
  if (token.kind != Token::Kind::word || token.text.contains('.') || negative_number)
    return tokens_.fail(token, "expected a number or the name of a symbol, found '" + token.text + "'");
  initialiser.is_symbol = true;
  if (token.text == "generic" && tokens_.accept('(')) {
    llvm::StringRef name;
    if (!tokens_.expect_name("a symbol", name) || !tokens_.expect(')')) return false;
    initialiser.is_generic = true;
    initialiser.text = name.str();
  }
  if (!tokens_.at('+') && !tokens_.at('-')) return true;
  bool negative = tokens_.take().is('-');
  if (!negative) negative = tokens_.accept('-');
  std::uint64_t offset = 0;
  if (!tokens_.expect_unsigned("an offset", kMaxBytes, offset)) return false;
  initialiser.offset = negative ? -static_cast<std::int64_t>(offset) : static_cast<std::int64_t>(offset);
  return true;
}

bool DeclarationParser::parse_initialisers(Variable& variable) {
  if (!tokens_.accept('=')) return true;
  variable.braced_initialiser = tokens_.accept('{');
  if (variable.braced_initialiser && tokens_.at('{'))
    return tokens_.fail("nested initialisers are not supported", "write one flat list");
  do {
    if (!parse_initialiser(variable.initialisers.emplace_back())) return false;
  } while (variable.braced_initialiser && tokens_.accept(','));
  return !variable.braced_initialiser || tokens_.expect('}');
}

bool DeclarationParser::parse_variables(llvm::StringRef linkage, std::vector<Variable>& variables,
                                        std::vector<llvm::StringRef>& names) {
  Variable common;
  common.linkage = linkage.str();
  if (!parse_type(common)) return false;
  do {
    Variable variable = common;
    variable.location = tokens_.location();
    if (!tokens_.expect_name("a variable", names.emplace_back()) || !parse_dimensions(variable) ||
        !parse_initialisers(variable))
      return false;
    variable.name = names.back().str();
    variables.push_back(std::move(variable));
  } while (tokens_.accept(','));
  return tokens_.expect(';');
}

bool DeclarationParser::parse_parameter(Variable& variable, llvm::StringRef& name) {
  if (!tokens_.token().is_directive("param"))
    return tokens_.fail("expected '.param', found '" + tokens_.token().text + "'",
                        "parameters in registers are not supported");
  if (!parse_type(variable)) return false;
  variable.location = tokens_.location();
  if (!tokens_.expect_name("a parameter", name) || !parse_dimensions(variable)) return false;
  variable.name = name.str();
  return true;
}

bool DeclarationParser::parse_directive(Directive& directive) {
  directive.location = tokens_.location();
  directive.name = undotted(tokens_.take()).str();
  const auto at_argument = [&] {
    const Token::Kind kind = tokens_.token().kind;
    return kind == Token::Kind::integer || kind == Token::Kind::string || kind == Token::Kind::word;
  };
  if (!at_argument()) return true;
  do {
    if (!at_argument())
      return tokens_.fail("expected an argument of ." + llvm::Twine(directive.name));
    directive.arguments.push_back(tokens_.take().text.str());
  } while (tokens_.accept(','));
  return true;
}

}  // namespace mlaindex::ptx
