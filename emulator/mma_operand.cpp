#include "emulator/mma_operand.h"

#include <algorithm>
#include <cstring>

namespace mlaindex::emulator {

SharedSpan span_of(const MatrixDescriptor& d, std::uint32_t first_row, std::uint32_t rows, const SharedMemory& shared) {
  std::uint32_t first = ~0u, last = 0;
  for (std::uint32_t row = first_row; row < first_row + rows; ++row)
    for (const std::uint32_t k : {0u, 16u}) {
      const std::uint32_t at = byte_address(d, row, k);
      first = std::min(first, at);
      last = std::max(last, at + 16);
    }
  SharedSpan span{first, last - first, shared.contains(first, last - first)};
  return span;
}

void set_row(MmaOperand& out, std::uint32_t row, NumberFormat format, const std::uint8_t* bytes) noexcept {
  if (out.depth() == 32) {
    const Decoded* table = decode_table(format);
    for (std::uint32_t i = 0; i < 32; ++i) out.set(row, i, table[bytes[i]]);
  } else if (out.depth() == 64) {
    const Decoded* table = decode_table(format);
    for (std::uint32_t i = 0; i < 64; ++i) out.set(row, i, table[(bytes[i / 2] >> (4 * (i % 2))) & 0xF]);
  } else {
    for (std::uint32_t i = 0; i < 16; ++i)
      out.set(row, i, decode(format, static_cast<std::uint32_t>(bytes[2 * i] | bytes[2 * i + 1] << 8)));
  }
}

bool read_operand(SharedMemory& shared, const MatrixDescriptor& d, NumberFormat format, std::uint32_t first_row,
                  std::uint32_t rows, MmaOperand& out, std::uint32_t out_row, std::string& problem) {
  bool written = true;
  for (std::uint32_t row = 0; row < rows; ++row) {
    std::uint8_t bytes[32];
    for (std::uint32_t cell = 0; cell < 2; ++cell) {  // a 16-byte cell is contiguous under every swizzle
      const std::uint32_t at = byte_address(d, first_row + row, cell * 16);
      if (written && !shared.initialised(at, 16)) {
        written = false;
        problem = "row " + std::to_string(first_row + row) + " at shared " + std::to_string(at) + " was never written";
      }
      std::memcpy(bytes + cell * 16, shared.at(at), 16);
    }
    set_row(out, out_row + row, format, bytes);
  }
  return written;
}

}  // namespace mlaindex::emulator
