#include "generator/ptx/parser.h"

#include "generator/ptx/function_parser.h"

namespace mlaindex::ptx {
namespace {

class ModuleParser {
 public:
  explicit ModuleParser(TokenStream& tokens) : tokens_(tokens), declarations_(tokens) {}

  bool parse(Module& module) {
    if (!parse_preamble(module)) return false;
    while (!tokens_.at_end()) {
      if (!parse_item(module)) return false;
    }
    return true;
  }

 private:
  bool parse_preamble(Module& module) {
    if (!tokens_.accept_directive("version"))
      return tokens_.fail("expected '.version' at the start of a PTX module");
    if (tokens_.token().kind != Token::Kind::floating)
      return tokens_.fail("expected a version such as 9.0, found '" + tokens_.token().text + "'");
    module.version = tokens_.take().text.str();
    if (!tokens_.accept_directive("target"))
      return tokens_.fail("expected '.target' after '.version'");
    do {
      llvm::StringRef target;
      if (!tokens_.expect_name("a target", target)) return false;
      module.targets.push_back(target.str());
    } while (tokens_.accept(','));
    module.address_size = 32;
    if (!tokens_.accept_directive("address_size")) return true;
    const Token at = tokens_.token();
    std::uint64_t bits = 0;
    if (!tokens_.expect_unsigned("an address size", 64, bits)) return false;
    if (bits != 32 && bits != 64) return tokens_.fail(at, "an address size is 32 or 64");
    module.address_size = static_cast<std::uint32_t>(bits);
    return true;
  }

  bool parse_item(Module& module) {
    if (tokens_.accept(';')) return true;
    if (tokens_.token().kind != Token::Kind::directive)
      return tokens_.fail("expected a directive, found '" + tokens_.token().text + "'");
    const llvm::StringRef directive = tokens_.token().text.drop_front();
    if (directive == "file" || directive == "section") return parse_debug(module);
    if (directive == "pragma") return parse_pragma(module);
    llvm::StringRef linkage;
    if (directive == "visible" || directive == "extern" || directive == "weak" ||
        directive == "common")
      linkage = tokens_.take().text.drop_front();
    const bool entry = tokens_.accept_directive("entry");
    if (entry || tokens_.accept_directive("func")) return parse_function(linkage, entry, module);
    if (declarations_.at_variable()) return parse_variables(linkage, module);
    return tokens_.fail("unknown directive '" + tokens_.token().text + "'");
  }

  bool parse_debug(Module& module) {
    Directive directive;
    directive.location = tokens_.location();
    directive.name = tokens_.token().text.drop_front().str();
    if (directive.name == "file") {
      directive.arguments.push_back(tokens_.take_rest_of_line().str());
    } else {
      tokens_.take();
      directive.arguments.push_back(tokens_.take().text.str());
      llvm::StringRef raw;
      if (!tokens_.expect('{') || !tokens_.take_raw_until('}', raw)) return false;
      directive.arguments.push_back(raw.str());
      if (!tokens_.expect('}')) return false;
    }
    append(module, std::move(directive));
    return true;
  }

  bool parse_pragma(Module& module) {
    Directive directive;
    if (!declarations_.parse_directive(directive) || !tokens_.expect(';')) return false;
    append(module, std::move(directive));
    return true;
  }

  void append(Module& module, Directive directive) {
    module.items.push_back({ModuleItem::Kind::directive,
                            static_cast<std::uint32_t>(module.directives.size())});
    module.directives.push_back(std::move(directive));
  }

  bool parse_variables(llvm::StringRef linkage, Module& module) {
    const Token at = tokens_.token();
    const std::size_t first = module.variables.size();
    std::vector<llvm::StringRef> names;
    if (!declarations_.parse_variables(linkage, module.variables, names)) return false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto index = static_cast<std::uint32_t>(first + i);
      NamedObject object;
      object.index = index;
      // `.extern` may declare what another line defines.
      const auto [place, fresh] = symbols_.emplace(names[i], object);
      if (!fresh) {
        const bool variable = place->second.table == SymbolTable::module_variable;
        if (!variable || (module.variables[place->second.index].linkage != "extern" &&
                          linkage != "extern"))
          return tokens_.fail(at, "'" + names[i] + "' is already declared");
        if (linkage != "extern") place->second = object;
      }
      module.items.push_back({ModuleItem::Kind::variable, index});
    }
    return true;
  }

  bool parse_function(llvm::StringRef linkage, bool entry, Module& module) {
    const Token at = tokens_.token();
    const auto index = static_cast<std::uint32_t>(module.functions.size());
    Function function;
    function.linkage = linkage.str();
    function.is_entry = entry;
    FunctionParser parser(tokens_, symbols_, function);
    llvm::StringRef name;
    if (!parser.parse_header(name)) return false;
    NamedObject object;
    object.table = SymbolTable::function;
    object.index = index;
    const auto [place, fresh] = symbols_.emplace(name, object);
    if (!fresh) {
      if (place->second.table != SymbolTable::function ||
          module.functions[place->second.index].has_body)
        return tokens_.fail(at, "'" + name + "' is already declared");
      place->second = object;
    }
    if (!parser.parse_body()) return false;
    module.items.push_back({ModuleItem::Kind::function, index});
    module.functions.push_back(std::move(function));
    return true;
  }

  TokenStream& tokens_;
  DeclarationParser declarations_;
  ModuleSymbols symbols_;
};

}  // namespace

Result<Module> parse(std::string_view text, std::string_view name) {
  TokenStream tokens(text, name);
  Module module;
  if (!ModuleParser(tokens).parse(module)) return tokens.error();
  return module;
}

}  // namespace mlaindex::ptx
