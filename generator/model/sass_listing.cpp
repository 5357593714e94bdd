#include "generator/model/sass_listing.h"

#include <charconv>
#include <map>
#include <optional>

#include "generator/base/format.h"

namespace mlaindex::model {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Takes the next word off the front of `text`.
std::string_view next_word(std::string_view& text) {
  const auto end = text.find_first_of(" \t");
  const std::string_view word = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : trimmed(text.substr(end));
  return word;
}

// The labels of "`(.L_x_3)", and of an indirect branch's "(*"BRANCH_TARGETS .L_x_4,.L_x_5"*)".
std::vector<std::string_view> named_labels(std::string_view operands) {
  constexpr std::string_view list = "BRANCH_TARGETS ";
  std::vector<std::string_view> labels;
  if (const auto open = operands.find("`("); open != std::string_view::npos) {
    const std::string_view label = operands.substr(open + 2);
    labels.push_back(label.substr(0, label.find(')')));
  } else if (const auto begin = operands.find(list); begin != std::string_view::npos) {
    std::string_view rest = operands.substr(begin + list.size());
    rest = rest.substr(0, rest.find('"'));
    while (!rest.empty()) {
      const auto comma = rest.find(',');
      labels.push_back(trimmed(rest.substr(0, comma)));
      rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    }
  }
  return labels;
}

// "/*0a40*/   @P0 FADD R0, R1, R2 ;   /* 0x... */": comments are addresses and encodings.
std::optional<SassInstruction> parse_instruction(std::string_view line) {
  if (!line.starts_with("/*")) return std::nullopt;
  const auto close = line.find("*/");
  if (close == std::string_view::npos) return std::nullopt;
  SassInstruction instruction;
  const std::string_view digits = line.substr(2, close - 2);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), instruction.address, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  std::string_view rest = line.substr(close + 2);
  rest = trimmed(rest.substr(0, rest.find(';')));
  std::string_view word = next_word(rest);
  if (word.starts_with('@')) {
    instruction.predicate = word;
    word = next_word(rest);
  }
  if (word.empty()) return std::nullopt;
  instruction.opcode = word;
  instruction.operands = rest;
  return instruction;
}

bool leaves(const SassInstruction& instruction) {
  if (!instruction.predicate.empty()) return false;
  const std::string_view base = base_opcode(instruction);
  // A branch with a condition among its operands (BRA.U UP0, `(.L)) may fall through.
  if (base == "BRA") return std::string_view(instruction.operands).starts_with("`(");
  return base == "EXIT" || base == "RET" || base == "BRX" || base == "JMP" || base == "KILL";
}

Error lost_branch(const SassListing& listing, const SassInstruction& instruction, std::string_view label) {
  return {ErrorCode::invalid_file,
          fmt::format("the branch at 0x{:x} of {} goes to '{}', which is not in the listing", instruction.address,
                      listing.kernel, label),
          "give the whole output of 'nvdisasm -c CUBIN'"};
}

}  // namespace

std::string_view base_opcode(const SassInstruction& instruction) noexcept {
  const std::string_view opcode = instruction.opcode;
  return opcode.substr(0, opcode.find('.'));
}

Result<SassListing> parse_sass(std::string_view text) {
  constexpr std::string_view section = ".text.";
  SassListing listing;
  std::map<std::string, std::size_t, std::less<>> labels;
  bool in_kernel = false;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with(section) && line.ends_with(':')) {
      if (in_kernel) break;  // the next kernel
      in_kernel = true;
      listing.kernel = line.substr(section.size(), line.size() - section.size() - 1);
    } else if (in_kernel && line.starts_with('.') && line.ends_with(':')) {
      labels.emplace(line.substr(0, line.size() - 1), listing.instructions.size());
    } else if (in_kernel) {
      if (auto instruction = parse_instruction(line)) listing.instructions.push_back(*std::move(instruction));
    }
  }
  if (listing.instructions.empty()) {
    return Error{ErrorCode::invalid_file, "a listing without an instruction", "expected: what 'nvdisasm -c CUBIN' prints"};
  }
  for (SassInstruction& instruction : listing.instructions) {
    instruction.falls_through = !leaves(instruction);
    const std::string_view base = base_opcode(instruction);
    if (base != "BRA" && base != "BRX") continue;
    const std::vector<std::string_view> names = named_labels(instruction.operands);
    for (const std::string_view label : names) {
      const auto place = labels.find(label);
      if (place == labels.end() || place->second >= listing.instructions.size()) {
        return lost_branch(listing, instruction, label);
      }
      instruction.targets.push_back(place->second);
    }
    if (names.empty()) return lost_branch(listing, instruction, instruction.operands);
  }
  return listing;
}

}  // namespace mlaindex::model
