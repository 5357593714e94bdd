// What an instruction of a warp keeps busy: one pipe of its sub-partition (a quarter of an SM), for so many clocks.
#pragma once

#include <string_view>

#include "generator/arch.h"

namespace mlaindex::model {

enum class Pipe {
  none,     // an issue slot and nothing that is counted: branches, waits, NOPs, what starts the tensor core
  alu,      // integers, logic, comparisons, maxima
  fma,      // multiply-adds, of both halves of the pipe
  lsu,      // loads, stores, barriers in memory, shuffles
  uniform,  // instructions on uniform registers
};

struct OpcodeCost {
  Pipe pipe = Pipe::none;
  double clocks = 0;
};

// `base`: the opcode without its suffixes, "FFMA2".
OpcodeCost opcode_cost(Arch arch, std::string_view base) noexcept;

}  // namespace mlaindex::model
