#include "emulator/instruction_descriptor.h"

#include <cstdio>
#include <optional>
#include <string>

namespace mlaindex::emulator {
namespace {

Error refused(std::uint32_t bits, const std::string& what, std::string hint) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08X", bits);
  return {ErrorCode::invalid_argument, std::string("instruction descriptor ") + text + ": " + what,
          std::move(hint)};
}

constexpr std::uint32_t field(std::uint32_t bits, unsigned first, unsigned last) noexcept {
  return (bits >> first) & ((1u << (last - first + 1)) - 1);
}

std::optional<NumberFormat> operand_format(MmaKind kind, std::uint32_t code) {
  switch (kind) {
    case MmaKind::f16:
      if (code == 0) return NumberFormat::f16;
      if (code == 1) return NumberFormat::bf16;
      return std::nullopt;
    case MmaKind::mxf4:
      if (code == 1) return NumberFormat::e2m1;
      return std::nullopt;
    default:
      switch (code) {
        case 0: return NumberFormat::e4m3;
        case 1: return NumberFormat::e5m2;
        case 3: return NumberFormat::e2m3;
        case 4: return NumberFormat::e3m2;
        case 5: return NumberFormat::e2m1;
        default: return std::nullopt;
      }
  }
}

Status check_shape(std::uint32_t bits, const InstructionDescriptor& d, MmaKind kind, unsigned ctas) {
  const bool scaled = kind == MmaKind::mxf8f6f4 || kind == MmaKind::mxf4;
  const bool m_ok = ctas == 1 ? d.m == 128 || (d.m == 64 && !scaled) : d.m == 128 || d.m == 256;
  if (!m_ok)
    return refused(bits, "M = " + std::to_string(d.m) + " with cta_group::" + std::to_string(ctas),
                   ctas == 2 ? "allowed: 128, 256" : scaled ? "allowed: 128" : "allowed: 64, 128");
  const std::uint32_t step = ctas == 1 ? 8 : 16;
  if (d.n < step || d.n > 256 || d.n % step != 0)
    return refused(bits, "N = " + std::to_string(d.n) + " with cta_group::" + std::to_string(ctas),
                   "allowed: multiples of " + std::to_string(step) + " up to 256");
  return {};
}

Status decode_plain(std::uint32_t bits, MmaKind kind, InstructionDescriptor& d) {
  if (field(bits, 0, 3) || field(bits, 6, 6) || field(bits, 23, 23) || field(bits, 29, 31))
    return refused(bits, "sparsity, saturation or reserved bits are set",
                   "bits 0-3, 6, 23 and 29-31 must be 0 for a dense floating-point mma");
  const std::uint32_t accumulator = field(bits, 4, 5);
  if (accumulator > 1)
    return refused(bits, "D format " + std::to_string(accumulator), "allowed: 0 (f16), 1 (f32)");
  d.d_is_f16 = accumulator == 0;
  if (d.d_is_f16 && kind == MmaKind::f16 && field(bits, 7, 9) != 0)
    return refused(bits, "an f16 result of bf16 inputs", "use an f32 result");
  d.m = field(bits, 24, 28) << 4;
  return {};
}

Status decode_scaled(std::uint32_t bits, MmaKind kind, InstructionDescriptor& d) {
  if (field(bits, 0, 3) || field(bits, 6, 6) || field(bits, 31, 31))
    return refused(bits, "sparsity or reserved bits are set", "bits 0-3, 6 and 31 must be 0");
  if (field(bits, 23, 23) != 1)
    return refused(bits, "scale type ue4m3", "ue8m0 (bit 23 = 1) is modelled");
  d.scale_b_id = field(bits, 4, 5);
  d.scale_a_id = field(bits, 29, 30);
  if (kind == MmaKind::mxf4 && ((d.scale_a_id | d.scale_b_id) & 1))
    return refused(bits, "an odd scale id with two scales a step", "allowed: 0, 2");
  d.m = field(bits, 24, 28) << 4;
  return {};
}

}  // namespace

Result<InstructionDescriptor> decode_instruction_descriptor(std::uint32_t bits, MmaKind kind,
                                                            unsigned cta_group) {
  InstructionDescriptor d;
  const bool scaled = kind == MmaKind::mxf8f6f4 || kind == MmaKind::mxf4;
  Status status = scaled ? decode_scaled(bits, kind, d) : decode_plain(bits, kind, d);
  if (!status.ok()) return status.error();
  const auto a = operand_format(kind, field(bits, 7, 9));
  const auto b = operand_format(kind, field(bits, 10, 12));
  if (!a || !b)
    return refused(bits, "operand format codes " + std::to_string(field(bits, 7, 9)) + " and " +
                             std::to_string(field(bits, 10, 12)),
                   kind == MmaKind::f16    ? "allowed: 0 (f16), 1 (bf16)"
                   : kind == MmaKind::mxf4 ? "allowed: 1 (e2m1)"
                                           : "allowed: 0, 1, 3, 4, 5");
  d.a = *a;
  d.b = *b;
  if (field(bits, 15, 16) != 0)
    return refused(bits, "an M- or N-major operand", "K-major operands (bits 15-16 = 0) are modelled");
  d.negate_a = field(bits, 13, 13);
  d.negate_b = field(bits, 14, 14);
  d.n = field(bits, 17, 22) << 3;
  d.k = kind == MmaKind::f16 ? 16 : kind == MmaKind::mxf4 ? 64 : 32;
  if (status = check_shape(bits, d, kind, cta_group); !status.ok()) return status.error();
  return d;
}

}  // namespace mlaindex::emulator
