#include "generator/ptx/function_parser.h"

namespace mlaindex::ptx {
namespace {

constexpr std::uint64_t kMaxRegisterCount = 1u << 30;

NamedObject symbol(SymbolTable table, std::size_t index) {
  NamedObject object;
  object.table = table;
  object.index = static_cast<std::uint32_t>(index);
  return object;
}

// "mbarrier.try_wait.b64" to its name and modifiers.
Opcode split_opcode(llvm::StringRef text) {
  Opcode opcode;
  auto [head, rest] = text.split('.');
  opcode.name = head.str();
  while (!rest.empty()) {
    std::tie(head, rest) = rest.split('.');
    opcode.modifiers.push_back(head.str());
  }
  return opcode;
}

}  // namespace

bool FunctionParser::declare(const Token& at, llvm::StringRef name, const NamedObject& object) {
  return names_.declare(name, object) ||
         tokens_.fail(at, "'" + name + "' is already declared in this scope");
}

bool FunctionParser::parse_header(llvm::StringRef& name) {
  function_.scopes.emplace_back();
  if (!function_.is_entry && tokens_.at('(') &&
      !parse_parameters(function_.results, SymbolTable::result))
    return false;
  function_.location = tokens_.location();
  if (!tokens_.expect_name("a function", name)) return false;
  function_.name = name.str();
  if (tokens_.at('(') && !parse_parameters(function_.parameters, SymbolTable::parameter)) return false;
  return parse_performance();
}

bool FunctionParser::parse_parameters(std::vector<Variable>& variables, SymbolTable table) {
  if (!tokens_.expect('(')) return false;
  if (tokens_.accept(')')) return true;
  do {
    const Token at = tokens_.token();
    llvm::StringRef name;
    if (!declarations_.parse_parameter(variables.emplace_back(), name)) return false;
    // `_` is an unnamed parameter of a prototype.
    if (name != "_" && !declare(at, name, symbol(table, variables.size() - 1))) return false;
  } while (tokens_.accept(','));
  return tokens_.expect(')');
}

bool FunctionParser::parse_performance() {
  while (tokens_.token().kind == Token::Kind::directive) {
    if (!declarations_.parse_directive(function_.performance.emplace_back())) return false;
    // Only .pragma ends in a semicolon here; any other is the end of a prototype.
    if (function_.performance.back().name == "pragma") tokens_.accept(';');
  }
  return true;
}

bool FunctionParser::parse_body() {
  if (tokens_.accept(';')) return true;
  if (!tokens_.expect('{')) return false;
  function_.has_body = true;
  while (depth_ > 0 || !tokens_.at('}')) {
    if (tokens_.at_end())
      return tokens_.fail("the body of " + llvm::Twine(function_.name) + " is not closed",
                          "a '}' is missing");
    if (!parse_statement()) return false;
  }
  tokens_.take();
  return resolve_labels();
}

bool FunctionParser::parse_statement() {
  if (tokens_.accept(';')) return true;
  if (tokens_.at('{')) return open_scope();
  if (tokens_.at('}')) return close_scope();
  if (tokens_.token().is_directive("reg")) return parse_registers();
  if (declarations_.at_variable()) return parse_local_variables();
  if (tokens_.token().kind == Token::Kind::directive) return parse_body_directive();
  return parse_instruction();
}

bool FunctionParser::open_scope() {
  tokens_.take();
  ++depth_;
  const auto scope = static_cast<std::uint32_t>(function_.scopes.size());
  function_.scopes.push_back({names_.current()});
  names_.enter(scope);
  append(Statement::Kind::scope_begin, scope);
  return true;
}

bool FunctionParser::close_scope() {
  tokens_.take();
  --depth_;
  append(Statement::Kind::scope_end, names_.current());
  names_.leave();
  return true;
}

bool FunctionParser::parse_registers() {
  RegisterDeclaration declaration;
  declaration.location = tokens_.location();
  tokens_.take();
  const Token type_token = tokens_.take();
  const auto type = type_token.kind == Token::Kind::directive
                        ? scalar_type(type_token.text.drop_front())
                        : std::nullopt;
  if (!type)
    return tokens_.fail(type_token, "'" + type_token.text + "' is not a type of registers",
                        "vector registers are not supported");
  declaration.type = *type;
  do {
    const Token at = tokens_.token();
    llvm::StringRef name;
    if (!tokens_.expect_name("a register", name)) return false;
    std::uint64_t count = 0;
    if (tokens_.accept('<')) {
      if (!tokens_.expect_unsigned("a number of registers", kMaxRegisterCount, count) ||
          !tokens_.expect('>'))
        return false;
      if (count == 0) return tokens_.fail(at, "'" + name + "<0>' declares no register");
      if (!names_.declare_registers(name, static_cast<std::uint32_t>(count), *type))
        return tokens_.fail(at, "'" + name + "<>' is already declared in this scope");
    } else {
      NamedObject object;
      object.kind = NamedObject::Kind::reg;
      object.type = *type;
      if (!declare(at, name, object)) return false;
    }
    declaration.names.push_back({name.str(), static_cast<std::uint32_t>(count)});
  } while (tokens_.accept(','));
  append(Statement::Kind::registers, function_.register_declarations.size());
  function_.register_declarations.push_back(std::move(declaration));
  return tokens_.expect(';');
}

bool FunctionParser::parse_local_variables() {
  const Token at = tokens_.token();
  const std::size_t first = function_.variables.size();
  std::vector<llvm::StringRef> names;
  if (!declarations_.parse_variables("", function_.variables, names)) return false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!declare(at, names[i], symbol(SymbolTable::local_variable, first + i))) return false;
    append(Statement::Kind::variable, first + i);
  }
  return true;
}

bool FunctionParser::parse_body_directive() {
  Directive directive;
  if (tokens_.token().is_directive("pragma")) {
    if (!declarations_.parse_directive(directive) || !tokens_.expect(';')) return false;
  } else if (tokens_.token().is_directive("loc")) {
    directive.location = tokens_.location();
    directive.name = "loc";
    directive.arguments.push_back(tokens_.take_rest_of_line().str());
  } else {
    return tokens_.fail("unknown directive '" + tokens_.token().text + "' in a function");
  }
  append(Statement::Kind::directive, function_.directives.size());
  function_.directives.push_back(std::move(directive));
  return true;
}

bool FunctionParser::parse_label(const Token& name) {
  tokens_.take();  // the colon
  if (tokens_.accept_directive("branchtargets")) return parse_branch_table(name);
  if (tokens_.token().is_directive("callprototype") || tokens_.token().is_directive("calltargets"))
    return parse_prototype(name);
  NamedObject object;
  object.kind = NamedObject::Kind::label;
  object.index = static_cast<std::uint32_t>(function_.labels.size());
  if (!declare(name, name.text, object)) return false;
  append(Statement::Kind::label, object.index);
  function_.labels.push_back({name.text.str(), names_.current(),
                              static_cast<std::uint32_t>(function_.instructions.size()),
                              {name.line, name.column}});
  return true;
}

bool FunctionParser::parse_branch_table(const Token& name) {
  const auto index = static_cast<std::uint32_t>(function_.branch_tables.size());
  if (!declare(name, name.text, symbol(SymbolTable::branch_table, index))) return false;
  TableFixup fixup;
  fixup.table = index;
  do {
    fixup.labels.push_back(tokens_.token());
    llvm::StringRef label;
    if (!tokens_.expect_name("a label", label)) return false;
  } while (tokens_.accept(','));
  append(Statement::Kind::branch_table, index);
  function_.branch_tables.push_back({name.text.str(), names_.current(), {}, {name.line, name.column}});
  table_fixups_.push_back(std::move(fixup));
  return tokens_.expect(';');
}

bool FunctionParser::parse_prototype(const Token& name) {
  Directive directive;
  directive.location = {name.line, name.column};
  directive.name = tokens_.take().text.drop_front().str();
  std::string prototype;
  if (!tokens_.take_words_until(';', prototype)) return false;
  directive.arguments = {name.text.str(), std::move(prototype)};
  const std::size_t index = function_.directives.size();
  if (!declare(name, name.text, symbol(SymbolTable::prototype, index))) return false;
  append(Statement::Kind::directive, index);
  function_.directives.push_back(std::move(directive));
  return tokens_.expect(';');
}

// A label, or `@%p opcode operands;`.
bool FunctionParser::parse_instruction() {
  Instruction instruction;
  instruction.location = tokens_.location();
  instruction.scope = names_.current();
  if (tokens_.accept('@')) {
    Guard& guard = instruction.guard.emplace();
    guard.negated = tokens_.accept('!');
    if (!operands_.parse_register(guard.register_index)) return false;
  }
  if (tokens_.token().kind != Token::Kind::word)
    return tokens_.fail("expected a statement, found '" + tokens_.token().text + "'");
  const Token word = tokens_.take();
  if (tokens_.at(':') && !instruction.guard && !word.text.contains('.')) return parse_label(word);
  instruction.opcode = split_opcode(word.text);
  while (tokens_.token().kind == Token::Kind::directive)
    instruction.opcode.modifiers.push_back(tokens_.take().text.drop_front().str());
  if (!operands_.parse_operands(instruction.opcode.name == "bra", instruction.operands)) return false;
  append(Statement::Kind::instruction, function_.instructions.size());
  function_.instructions.push_back(std::move(instruction));
  return tokens_.expect(';');
}

// Puts label numbers where the operands hold places in the list of forward references.
bool FunctionParser::resolve_labels() {
  std::vector<std::uint32_t> resolved;
  for (const OperandParser::Forward& forward : operands_.forwards()) {
    const auto label = names_.find_label(forward.token.text, forward.scope);
    if (!label)
      return tokens_.fail(forward.token, "'" + forward.token.text + "' is not declared",
                          "no label, register or variable of this name is visible here");
    resolved.push_back(*label);
  }
  const auto patch = [&](std::vector<Operand>& operands) {
    for (Operand& operand : operands)
      if (LabelRef* label = operand.as<LabelRef>()) label->index = resolved[label->index];
  };
  for (Instruction& instruction : function_.instructions) {
    patch(instruction.operands);
    for (Operand& operand : instruction.operands) {
      if (OperandList* list = operand.as<OperandList>()) patch(list->elements);
      if (Address* address = operand.as<Address>()) patch(address->coordinates);
    }
  }
  for (const TableFixup& fixup : table_fixups_) {
    BranchTable& table = function_.branch_tables[fixup.table];
    for (const Token& token : fixup.labels) {
      const auto label = names_.find_label(token.text, table.scope);
      if (!label) return tokens_.fail(token, "label '" + token.text + "' is not declared");
      table.labels.push_back(*label);
    }
  }
  return true;
}

}  // namespace mlaindex::ptx
