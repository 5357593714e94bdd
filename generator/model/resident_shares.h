// How many key tiles the CTAs of a plan that keeps keys get: the arithmetic of templates/common/resident_schedule.cuh.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/model/tile_shares.h"

namespace mlaindex::model {

struct ResidentShares {
  TileShare total;
  TileShare longest;          // of the CTA with the most tiles
  std::int64_t key_loads = 0; // by all CTAs, of all keys that one keeps
};

// tiles_of_blocks: of each block of tokens of the one request, key tiles that it sees, from key 0 on. parts: CTAs for each
// set of keys that one keeps, of `resident_tiles` key tiles, in pieces of 1 << log2_pieces; where there are as many sets as
// CTAs or more, they are 1 each. num_ctas: of the launch.
ResidentShares resident_shares(const std::vector<std::int64_t>& tiles_of_blocks, std::int64_t resident_tiles,
                               const std::vector<std::int64_t>& parts, int log2_pieces, std::int64_t num_ctas);

}  // namespace mlaindex::model
