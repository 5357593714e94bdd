// How many key tiles the CTAs of a plan that keeps keys get: the arithmetic of templates/common/resident_schedule.cuh.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/model/tile_shares.h"

namespace mlaindex::model {

struct ResidentShares {
  TileShare total;
  TileShare longest;          // of the CTA with the most tiles
  std::int64_t key_loads = 0; // by all CTAs, of all keys that one keeps at a time
};

// tiles_of_blocks: of each block of tokens of the one request, key tiles that it sees, from key 0 on. resident_tiles: key
// tiles of a set, which a CTA keeps at a time. A unit is a block against one of 1 << log2_pieces pieces of a set.

// Every set has CTAs of its own: parts, among which its units go round.
ResidentShares resident_shares(const std::vector<std::int64_t>& tiles_of_blocks, std::int64_t resident_tiles,
                               const std::vector<std::int64_t>& parts, int log2_pieces);

// Each CTA takes a run of the sequence of all sets' units.
ResidentShares resident_shares(const std::vector<std::int64_t>& tiles_of_blocks, std::int64_t resident_tiles,
                               std::int64_t num_sets, std::int64_t units_of_cta, int log2_pieces);

}  // namespace mlaindex::model
