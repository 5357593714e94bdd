#include "generator/preprocessor.h"

#include <optional>
#include <sstream>
#include <vector>

#include "generator/base/format.h"

namespace mlaindex {
namespace {

struct Conditional {
  bool taking = false;    // the branch at hand is emitted
  bool taken = false;     // an earlier branch was
  bool enclosing = true;  // the text around the whole conditional is emitted
};

std::optional<bool> compare(int left, std::string_view op, int right) {
  if (op == "==") return left == right;
  if (op == "!=") return left != right;
  if (op == "<") return left < right;
  if (op == "<=") return left <= right;
  if (op == ">") return left > right;
  if (op == ">=") return left >= right;
  return std::nullopt;
}

std::optional<bool> evaluate(const std::string& condition, const Switches& switches) {
  std::istringstream words(condition);
  std::string name, op, number, rest;
  words >> name >> op >> number >> rest;
  const bool negated = !name.empty() && name.front() == '!';
  const auto found = switches.find(negated ? name.substr(1) : name);
  if (found == switches.end() || !rest.empty()) return std::nullopt;
  if (op.empty()) return (found->second != 0) != negated;
  if (negated || number.empty() || number.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return compare(found->second, op, std::stoi(number));
}

}  // namespace

Result<std::string> resolve_switches(std::string_view text, const Switches& switches) {
  std::string resolved;
  std::vector<Conditional> open;
  std::istringstream lines{std::string(text)};
  std::string line;
  int number = 0;
  const auto malformed = [&] {
    return Error{ErrorCode::internal, fmt::format("template line {}: cannot resolve '{}'", number, line),
                 "conditions compare one switch of the plan; other directives are not used in templates"};
  };

  while (std::getline(lines, line)) {
    ++number;
    const auto emitting = [&] { return open.empty() || open.back().taking; };
    const bool is_directive = line.starts_with('#') && !line.starts_with("#pragma unroll");
    if (!is_directive) {
      if (emitting()) resolved += line + '\n';
    } else if (line.starts_with("#if ")) {
      const std::optional<bool> holds = evaluate(line.substr(4), switches);
      if (!holds) return malformed();
      const bool enclosing = emitting();
      open.push_back({enclosing && *holds, *holds, enclosing});
    } else if (open.empty()) {
      return malformed();
    } else if (line == "#endif") {
      open.pop_back();
    } else {
      const std::optional<bool> holds = line == "#else"              ? std::optional(true)
                                        : line.starts_with("#elif ") ? evaluate(line.substr(6), switches)
                                                                     : std::nullopt;
      if (!holds) return malformed();
      Conditional& conditional = open.back();
      conditional.taking = conditional.enclosing && *holds && !conditional.taken;
      conditional.taken = conditional.taken || *holds;
    }
  }
  if (!open.empty()) return malformed();
  return resolved;
}

}  // namespace mlaindex
