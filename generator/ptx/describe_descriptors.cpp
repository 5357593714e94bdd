// Descriptors of the tensor core, decoded as far as their bits are constant.
#include <algorithm>

#include "generator/ptx/describe_rules.h"
#include "generator/ptx/instruction_kinds.h"

namespace mlaindex::ptx {
namespace {

std::uint64_t field(std::uint64_t bits, unsigned low, unsigned width) {
  return bits >> low & ((std::uint64_t{1} << width) - 1);
}

std::string modifier_after(const Opcode& opcode, const std::string& prefix) {
  for (const std::string& modifier : opcode.modifiers)
    if (modifier.rfind(prefix, 0) == 0) return modifier.substr(prefix.size());
  return {};
}

std::string format_name(const std::string& kind, std::uint64_t format) {
  static constexpr const char* kSmall[] = {"e4m3", "e5m2", "", "e2m3", "e3m2", "e2m1"};
  if (kind == "f8f6f4" && format < std::size(kSmall) && format != 2) return kSmall[format];
  if (kind == "f16" && format < 2) return format == 0 ? "f16" : "bf16";
  if (kind == "tf32" && format == 2) return "tf32";
  if (kind == "i8" && format < 2) return format == 0 ? "u8" : "s8";
  return "format " + std::to_string(format);
}

std::string accumulator_name(std::uint64_t format) {
  static constexpr const char* kNames[] = {"f16", "f32", "s32"};
  return format < std::size(kNames) ? kNames[format] : "format " + std::to_string(format);
}

// Of tcgen05.mma without block scales.
std::string instruction_descriptor_text(const std::string& kind, std::uint64_t bits) {
  return "M " + std::to_string(field(bits, 24, 5) << 4) + ", N " + std::to_string(field(bits, 17, 6) << 3) + ", " +
         format_name(kind, field(bits, 7, 3)) + " x " + format_name(kind, field(bits, 10, 3)) + " -> " +
         accumulator_name(field(bits, 4, 2)) + ", A " + (field(bits, 15, 1) ? "MN" : "K") + "-major, B " +
         (field(bits, 16, 1) ? "MN" : "K") + "-major";
}

std::string swizzle_name(std::uint64_t bits, bool tcgen05) {
  const std::uint64_t mode = tcgen05 ? field(bits, 61, 3) : field(bits, 62, 2);
  if (mode == 0) return "no swizzle";
  if (!tcgen05) return mode == 1 ? "128-byte swizzle" : mode == 2 ? "64-byte swizzle" : "32-byte swizzle";
  switch (mode) {
    case 1: return "128-byte swizzle with 32-byte atoms";
    case 2: return "128-byte swizzle";
    case 4: return "64-byte swizzle";
    case 6: return "32-byte swizzle";
    default: return "swizzle mode " + std::to_string(mode);
  }
}

std::string shared_descriptor_text(const AbstractValue& value, bool tcgen05) {
  const std::uint64_t known = value.ones | value.zeros;
  if (field(known, 32, 14) != 0x3fff || field(known, 61, 3) != 7) return "layout not known here";
  std::string text = swizzle_name(value.ones, tcgen05);
  if (field(known, 16, 14) == 0x3fff)
    text += ", leading stride " + std::to_string(field(value.ones, 16, 14) << 4) + " bytes";
  return text + ", stride " + std::to_string(field(value.ones, 32, 14) << 4) + " bytes";
}

// A descriptor that steps along K in place has its layout from the move that made it: the steps only
// advance the address.
AbstractValue layout_of(const Description& d, const Operand& operand) {
  const auto* target = operand.as<RegisterRef>();
  if (!target) return d.values.of(operand);
  for (const Instruction& instruction : d.entry.instructions) {
    if (instruction.opcode.name != "mov" || instruction.operands.size() != 2) continue;
    const auto* moved = instruction.operands[0].as<RegisterRef>();
    if (moved && moved->index == target->index) return d.values.of(instruction.operands[1]);
  }
  return d.values.of(operand);
}

std::string operands_text(const Description& d, const Instruction& instruction, bool tcgen05) {
  const AbstractValue b = layout_of(d, instruction.operands[2]);
  const std::string b_text = shared_descriptor_text(b, tcgen05);
  if (!instruction.operands[1].as<RegisterRef>())  // tensor memory, or registers
    return std::string("A in ") + (tcgen05 ? "tensor memory" : "registers") + "; B: " + b_text;
  const std::string a_text = shared_descriptor_text(layout_of(d, instruction.operands[1]), tcgen05);
  return a_text == b_text ? "A and B: " + b_text : "A: " + a_text + "; B: " + b_text;
}

std::string mma_text(const Description& d, const Instruction& instruction) {
  const Opcode& opcode = instruction.opcode;
  const bool tcgen05 = opcode.name == "tcgen05";
  std::string text = opcode.text();
  if (tcgen05) {
    const std::size_t position = opcode.has("sp") ? 4 : 3;
    const auto bits = instruction.operands.size() > position ? d.values.constant(instruction.operands[position])
                                                             : std::nullopt;
    const bool decoded = bits && !opcode.has("block_scale");
    text += ": " + (decoded ? instruction_descriptor_text(modifier_after(opcode, "kind::"), *bits)
                            : std::string("instruction descriptor not decoded"));
  }
  return text + "; " + operands_text(d, instruction, tcgen05);
}

}  // namespace

void describe_descriptors(Description& d) {
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds;  // text, lines
  for (const Instruction& instruction : d.entry.instructions) {
    if (!is(instruction, "tcgen05", "mma") && !is(instruction, "wgmma", "mma_async")) continue;
    if (instruction.operands.size() < 3) continue;
    const std::string text = mma_text(d, instruction);
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& known) { return known.first == text; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {text, {}});
    kind->second.push_back(std::to_string(instruction.location.line));
  }
  for (const auto& [text, lines] : kinds)
    d.note("descriptor", text + " (" + std::to_string(lines.size()) + " times, line" +
                             (lines.size() == 1 ? " " : "s ") + joined(lines) + ")");
}

}  // namespace mlaindex::ptx
