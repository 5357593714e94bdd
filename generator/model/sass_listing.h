// Machine code as nvdisasm prints it, one instruction after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/result.h"

namespace mlaindex::model {

struct SassInstruction {
  std::uint32_t address = 0;         // in bytes, from the start of the kernel
  std::string predicate;             // "@!P0"; empty: none
  std::string opcode;                // with its suffixes: "LDG.E.64"
  std::string operands;              // as printed, without the semicolon
  std::vector<std::size_t> targets;  // of a branch: indices of the instructions that it may go to
  bool falls_through = true;         // the instruction behind it may follow
};

// "LDG" of "LDG.E.64".
std::string_view base_opcode(const SassInstruction& instruction) noexcept;

struct SassListing {
  std::string kernel;  // symbol
  std::vector<SassInstruction> instructions;
};

// The first kernel of `text`, which `nvdisasm -c CUBIN` printed. Errors: invalid_file for text without
// an instruction, and for a branch to a label that is not there.
Result<SassListing> parse_sass(std::string_view text);

}  // namespace mlaindex::model
