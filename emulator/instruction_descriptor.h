// The 32-bit instruction descriptor of tcgen05.mma, from which M, N and the operand formats come.
#pragma once

#include <cstdint>

#include "emulator/number_format.h"
#include "generator/base/result.h"

namespace mlaindex::emulator {

enum class MmaKind : std::uint8_t { f8f6f4, f16, mxf8f6f4, mxf4 };

struct InstructionDescriptor {
  NumberFormat a = NumberFormat::e4m3, b = NumberFormat::e4m3;
  bool d_is_f16 = false;
  bool negate_a = false, negate_b = false;
  std::uint32_t m = 0, n = 0;
  std::uint32_t k = 0;           // elements an instruction
  std::uint32_t scale_a_id = 0;  // block-scaled kinds: which byte of the scale word
  std::uint32_t scale_b_id = 0;
};

// Decodes and checks a dense descriptor against the shapes of `kind` for 1 or 2 CTAs.
// invalid_argument names the field, its value and what is allowed.
Result<InstructionDescriptor> decode_instruction_descriptor(std::uint32_t bits, MmaKind kind,
                                                            unsigned cta_group);

}  // namespace mlaindex::emulator
