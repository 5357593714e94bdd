// tcgen05.mma between issue and completion.
#pragma once

#include <array>
#include <vector>

#include "emulator/instruction_descriptor.h"
#include "emulator/mma_operand.h"
#include "emulator/warp.h"

namespace mlaindex::emulator {

struct MmaSettings {
  MmaKind kind;
  std::uint8_t cta_group;
  std::uint8_t mask_words;    // of the lane mask: 0, 4 or 8
  std::uint8_t input_scale;   // D input is multiplied by 2^-n
  bool a_in_tensor_memory, block_scaled;
};

// One CTA's part: its rows of A and D, its columns of B.
struct MmaPart {
  Cta* cta = nullptr;
  SharedSpan a, b;
  TensorRegion d, a_region;
};

struct MmaWork {
  std::vector<MmaPart> parts;
  MmaSettings settings;
  InstructionDescriptor instruction;
  MatrixDescriptor a, b;
  std::uint32_t d_column = 0, d_lane = 0, a_column = 0;
  TensorRegion scale_a, scale_b;
  std::array<std::uint32_t, 8> disabled{};
  bool accumulate = false;
  Warp* warp = nullptr;
  Actor who;
};

// Reads the operands, multiplies, writes D, and ends every access that the issue began.
void multiply(const MmaWork& work);

}  // namespace mlaindex::emulator
