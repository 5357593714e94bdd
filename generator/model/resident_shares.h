// How many key tiles the CTAs of a plan that keeps keys get: the arithmetic of templates/common/resident_schedule.cuh.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/model/tile_shares.h"

namespace mlaindex::model {

// One request: its tokens see num_keys keys, under a causal mask all but those of later tokens.
struct ResidentProblem {
  std::int64_t num_tokens = 0;
  std::int64_t num_keys = 0;
  bool causal = false;
  std::vector<std::int64_t> tiles_of_blocks;  // of each block of tokens: key tiles that it sees, from key 0 on
};

struct ResidentShares {
  TileShare total;
  TileShare longest;          // of the CTA with the most tiles
  std::int64_t key_loads = 0; // by all CTAs, of all keys that one keeps
};

// resident_tiles: key tiles that a CTA keeps, of tile_keys keys each. The parts of the tokens for every such set of keys:
// together at most num_ctas, where there are fewer sets.
std::vector<std::int64_t> parts_of_tiles(const ResidentProblem& problem, std::int64_t tile_keys, std::int64_t resident_tiles,
                                         std::int64_t num_ctas);

ResidentShares resident_shares(const ResidentProblem& problem, std::int64_t tile_keys, std::int64_t resident_tiles,
                               std::int64_t num_ctas);

}  // namespace mlaindex::model
