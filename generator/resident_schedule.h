// How a launch of a plan that keeps keys is shared out among its CTAs: host side of
// templates/common/resident_schedule.cuh, in the same whole numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/plan.h"
#include "generator/route.h"

namespace mlaindex {

// A tile is the keys that a CTA keeps at a time; a unit is a token block against a piece of a tile.
struct ResidentSchedule {
  int ctas = 1;
  int units_of_cta = 1;      // at most
  bool in_sequence = false;  // each CTA takes a run of all tiles' units; else every tile has CTAs of its own
  int log2_pieces = 0;       // of a tile

  // What the kernel is told: the units of a CTA, or their reciprocal, 2^31 / units_of_cta rounded up.
  std::uint32_t unit_share() const noexcept;
};

// Depends on sizes and the number of slots (CTAs that the GPU runs at once) only. size: positive.
//
// The smallest pieces of which no CTA gets more than one; else halves, two for a CTA, of which each takes less than half
// the time of a tile because other warpgroups score them (measured on an H200: 3 to 7 %); else whole tiles, whose
// queries are read least often. In sequence where that saves a CTA a unit, at the cost of keys that it has to load anew.
ResidentSchedule resident_schedule(const Plan& plan, bool causal, const ProblemSize& size, std::int64_t slots) noexcept;

// CTAs of every tile, at least one. Not of a schedule in sequence.
std::vector<std::int64_t> parts_of_tiles(const Plan& plan, bool causal, const ProblemSize& size, const ResidentSchedule& schedule);

}  // namespace mlaindex
