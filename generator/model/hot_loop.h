// The loop in which the math warps spend their time, and a straight pass through it.
#pragma once

#include <cstddef>
#include <vector>

#include "generator/base/result.h"
#include "generator/model/sass_listing.h"

namespace mlaindex::model {

// A natural loop: what lies on the ways from its header back to it. Loops of one header are one.
struct Loop {
  std::size_t header = 0;            // index of the instruction that every pass begins with
  std::vector<std::size_t> latches;  // whose branch goes back to the header
  std::vector<bool> body;            // of every instruction of the listing: it belongs to the loop
};

// In the order of their headers in the listing.
std::vector<Loop> natural_loops(const SassListing& listing);

// Elements of the head sum that an instruction folds in a thread: 1 for a multiply-add, 2 for a packed one; of a bf16
// fold, whose sums begin with products and end with additions, 2 for a relu; 0 for all others.
int folded_elements(const SassInstruction& instruction) noexcept;

// Indices of the instructions that a warp issues on its way through the loop: of those ways from the header to
// a latch that never go back, the one that folds the most elements and then has the fewest instructions. What
// no tile of visible keys needs (a wait that failed, keys at an edge) is so left out.
std::vector<std::size_t> straight_pass(const SassListing& listing, const Loop& loop);

// The straight pass through the math loop: of all loops that fold 32 elements or more, the one that spends the
// largest part of its pass on them. Loops of producers and schedulers fold none. Error: invalid_file when no
// loop folds.
Result<std::vector<std::size_t>> math_pass(const SassListing& listing);

}  // namespace mlaindex::model
