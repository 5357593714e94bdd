// How a launch of a plan that keeps keys is shared out among its CTAs: host side of
// templates/common/resident_schedule.cuh, in the same whole numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/plan.h"
#include "generator/route.h"

namespace mlaindex {

// A tile is the keys that a CTA keeps; a unit is a token block against a piece of a tile.
struct ResidentSchedule {
  int ctas = 1;
  std::uint32_t cta_of_unit = 0;  // 2^31 / units of a CTA, rounded up; where a CTA has several tiles, it has all units of each
  int log2_pieces = 0;            // of a tile
};

// Depends on sizes and the number of slots (CTAs that the GPU runs at once) only. size: positive.
//
// The smallest pieces of which no CTA gets more than one; else halves, two for a CTA, of which each takes less than half
// the time of a tile because other warpgroups score them (measured on an H200: 3 to 7 %); else whole tiles, whose
// queries are read least often.
ResidentSchedule resident_schedule(const Plan& plan, bool causal, const ProblemSize& size, std::int64_t slots) noexcept;

// CTAs of every tile, at least one; where there are as many tiles as slots or more, one of which each CTA has several.
std::vector<std::int64_t> parts_of_tiles(const Plan& plan, bool causal, const ProblemSize& size, const ResidentSchedule& schedule);

}  // namespace mlaindex
