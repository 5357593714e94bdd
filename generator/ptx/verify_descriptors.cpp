// Rule "descriptor".
#include "generator/ptx/instruction_kinds.h"
#include "generator/ptx/verify_rules.h"

namespace mlaindex::ptx {
namespace {

std::uint64_t field(std::uint64_t bits, unsigned low, unsigned width) {
  return bits >> low & ((std::uint64_t{1} << width) - 1);
}

// What a tcgen05.mma is, as far as its descriptor depends on it.
struct MmaKind {
  std::string name;  // "f8f6f4"
  bool block_scaled = false;
  bool sparse = false;
  bool weight_stationary = false;
  bool pair = false;  // cta_group::2
};

MmaKind kind_of(const Opcode& opcode) {
  MmaKind kind;
  for (const std::string& modifier : opcode.modifiers)
    if (modifier.rfind("kind::", 0) == 0) kind.name = modifier.substr(6);
  kind.block_scaled = opcode.has("block_scale");
  kind.sparse = opcode.has("sp");
  kind.weight_stationary = opcode.has("ws");
  kind.pair = opcode.has("cta_group::2");
  return kind;
}

bool has_shape(const MmaKind& kind, std::uint64_t m, std::uint64_t n) {
  if (kind.weight_stationary) return (m == 32 || m == 64 || m == 128) && (n == 64 || n == 128 || n == 256);
  const std::uint64_t step = kind.pair ? 16 : 8;
  if (n < step || n > 256 || n % step != 0) return false;
  if (kind.name == "i8" && (n % (kind.pair ? 32 : 16) != 0) && n != 8 && n != 24) return false;
  if (kind.block_scaled) return kind.pair ? m == 128 || m == 256 : m == 128;
  return kind.pair ? m == 128 || m == 256 : m == 64 || m == 128;
}

// Empty, or what is wrong with the instruction descriptor.
std::string judge_instruction_descriptor(const MmaKind& kind, std::uint64_t bits) {
  const std::uint64_t a_format = field(bits, 7, 3), b_format = field(bits, 10, 3);
  const std::uint64_t n = field(bits, 17, 6) << 3;
  const std::uint64_t m = kind.block_scaled ? field(bits, 27, 2) << 7 : field(bits, 24, 5) << 4;
  const std::string shape = "M " + std::to_string(m) + ", N " + std::to_string(n);
  if (!has_shape(kind, m, n)) return shape + " is not a shape of this kind and cta_group";
  const std::uint64_t reserved = kind.block_scaled
                                     ? 1u << 3 | 1u << 6 | 7u << 24
                                     : 1u << 6 | 1u << 23 | 1u << 29 | (kind.name == "i8" ? 0u : 1u << 3);
  if (bits & reserved) return "reserved bits are set";
  if (static_cast<bool>(field(bits, 2, 1)) != kind.sparse) return "the sparse bit does not match the opcode";
  if (!kind.sparse && field(bits, 0, 2) != 0) return "a sparsity selector without sparsity";
  if (kind.block_scaled) return {};
  const std::uint64_t d_format = field(bits, 4, 2);
  if (kind.name == "f8f6f4") {
    for (std::uint64_t format : {a_format, b_format})
      if (format == 2 || format > 5) return "an operand format of " + std::to_string(format) + "; 0, 1, 3, 4, 5 exist";
    if (d_format > 1) return "the accumulator is neither f16 nor f32";
  } else if (kind.name == "f16") {
    if (a_format > 1 || b_format > 1) return "an operand is neither f16 nor bf16";
    if (d_format > 1) return "the accumulator is neither f16 nor f32";
  } else if (kind.name == "tf32") {
    if (a_format != 2 || b_format != 2) return "an operand is not tf32";
    if (d_format != 1) return "the accumulator is not f32";
  } else if (kind.name == "i8") {
    if (a_format > 1 || b_format > 1) return "an operand is neither u8 nor s8";
    if (d_format != 2) return "the accumulator is not s32";
  }
  return {};
}

// Bits of a shared memory descriptor that must be 0, that must be 1, and where the swizzle stands.
struct DescriptorLayout {
  std::uint64_t zeros;
  std::uint64_t ones;
};

constexpr std::uint64_t bit_range(unsigned low, unsigned high) {
  return ((std::uint64_t{1} << (high - low + 1)) - 1) << low;
}

constexpr std::uint64_t kCommonZeros = bit_range(14, 15) | bit_range(30, 31);
// The base offset (49-51) stays 0: swizzled tiles start at multiples of their pattern.
constexpr DescriptorLayout kTcgen05 = {kCommonZeros | bit_range(47, 60), std::uint64_t{1} << 46};
constexpr DescriptorLayout kWgmma = {kCommonZeros | bit_range(46, 61), 0};

void check_shared_descriptor(Examination& examination, const Instruction& instruction,
                             const Operand& operand, const DescriptorLayout& layout, const char* which) {
  const AbstractValue value = examination.values.of(operand);
  const std::string of = std::string("the shared memory descriptor of ") + which;
  if (value.ones & layout.zeros) {
    examination.report("descriptor", instruction, of + " has bits set that must be 0");
  } else if (value.zeros & layout.ones) {
    examination.report("descriptor", instruction, of + " lacks the constant bit 46");
  } else if (field(value.ones | value.zeros, 61, 3) == 7) {
    const std::uint64_t swizzle = field(value.ones, 61, 3);
    if (swizzle == 3 || swizzle == 5 || swizzle == 7)
      examination.report("descriptor", instruction, of + " has swizzle mode " + std::to_string(swizzle));
  }
}

void check_tcgen05_mma(Examination& examination, const Instruction& instruction) {
  const MmaKind kind = kind_of(instruction.opcode);
  const std::size_t position = kind.sparse ? 4 : 3;
  if (instruction.operands.size() <= position) return;
  if (instruction.operands[1].as<RegisterRef>())
    check_shared_descriptor(examination, instruction, instruction.operands[1], kTcgen05, "A");
  check_shared_descriptor(examination, instruction, instruction.operands[2], kTcgen05, "B");
  const auto bits = examination.values.constant(instruction.operands[position]);
  if (!bits) return;
  const std::string fault = judge_instruction_descriptor(kind, *bits);
  if (!fault.empty()) examination.report("descriptor", instruction, "instruction descriptor: " + fault);
}

}  // namespace

void check_descriptors(Examination& examination) {
  for (const Instruction& instruction : examination.function.instructions) {
    if (is(instruction, "tcgen05", "mma")) {
      check_tcgen05_mma(examination, instruction);
    } else if (is(instruction, "wgmma", "mma_async") && instruction.operands.size() > 2) {
      if (instruction.operands[1].as<RegisterRef>())
        check_shared_descriptor(examination, instruction, instruction.operands[1], kWgmma, "A");
      check_shared_descriptor(examination, instruction, instruction.operands[2], kWgmma, "B");
    }
  }
}

}  // namespace mlaindex::ptx
