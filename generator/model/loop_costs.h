// What a warp's pass through the math loop costs: all that the prediction needs to know of machine code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/arch.h"
#include "generator/base/result.h"
#include "generator/model/opcode_cost.h"
#include "generator/model/sass_listing.h"

namespace mlaindex::model {

// Of one warp in its quarter of an SM: issue slots, and clocks of each pipe.
struct PipeClocks {
  double issue = 0;
  double alu = 0;
  double fma = 0;
  double lsu = 0;
  double uniform = 0;

  PipeClocks& operator+=(const PipeClocks& other) noexcept;
  friend PipeClocks operator*(const PipeClocks& clocks, double factor) noexcept;
};

struct OpcodeCount {
  std::string opcode;  // without suffixes
  int count = 0;
};

struct LoopCosts {
  int elements = 0;  // relu elements that a thread folds in a pass
  PipeClocks fold;   // relu and multiply-adds of the head sum: they grow with the columns in use
  PipeClocks other;  // the rest of a pass
  std::vector<OpcodeCount> opcodes;  // of both, the most frequent first

  // The issue slots of a pass, fold and rest, for each element.
  double slots_per_element() const noexcept { return elements > 0 ? (fold.issue + other.issue) / elements : 0; }
};

// Of the instructions with these indices, for example math_pass(listing).
LoopCosts loop_costs(const SassListing& listing, const std::vector<std::size_t>& pass, Arch arch);

// Parses what `nvdisasm -c` printed of one kernel, finds its math loop and counts. Errors: those of parse_sass and
// math_pass.
Result<LoopCosts> loop_costs(std::string_view sass, Arch arch);

}  // namespace mlaindex::model
