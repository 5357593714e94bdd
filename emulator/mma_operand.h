// Matrix operands in shared memory: the bytes a descriptor names, decoded for one instruction.
#pragma once

#include <cstdint>
#include <string>

#include "emulator/matrix_descriptor.h"
#include "emulator/mma_arithmetic.h"
#include "emulator/shared_memory.h"

namespace mlaindex::emulator {

// The least range of shared memory that holds the operand.
struct SharedSpan {
  std::uint32_t first = 0, bytes = 0;
  bool inside = false;  // within the CTA's shared memory
};

// Rows [first_row, first_row + rows), 32 bytes each.
SharedSpan span_of(const MatrixDescriptor& d, std::uint32_t first_row, std::uint32_t rows, const SharedMemory& shared);

// Decodes `rows` rows of one K step of out.depth() elements (32 bytes a row) into `out` from row
// `out_row` on. False, with the place in `problem`, if a byte was never written; the operand is
// complete all the same. The span must be inside.
bool read_operand(SharedMemory& shared, const MatrixDescriptor& d, NumberFormat format, std::uint32_t first_row,
                  std::uint32_t rows, MmaOperand& out, std::uint32_t out_row, std::string& problem);

// Decodes one row from the 32 bytes of a K step, wherever they came from.
void set_row(MmaOperand& out, std::uint32_t row, NumberFormat format, const std::uint8_t* bytes) noexcept;

}  // namespace mlaindex::emulator
