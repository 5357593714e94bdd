// How many key tiles the CTAs of a launch get: the arithmetic of templates/common/work_schedule.cuh,
// request_schedule.cuh and resident_schedule.cuh, and of launch_grid for plans with a CTA for each token block.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/base/result.h"
#include "generator/plan.h"
#include "generator/route.h"
#include "generator/spec.h"

namespace mlaindex::model {

// Tiles of one CTA, or the blocks of one.
struct TileShare {
  std::int64_t tiles = 0;   // key tiles, counted once for each block of tokens that reads them
  std::int64_t blocks = 0;  // of tokens that it starts on, once for each set of keys that stays
};

struct TileShares {
  TileShare total;
  TileShare longest;           // of the CTA with the most tiles
  int ctas = 0;                // that have work at the same time
  std::int64_t waves = 1;      // of CTAs, one after the other
  std::int64_t key_loads = 0;  // by all CTAs, of all keys that one keeps; 0 where keys do not stay
  std::int64_t pairs = 0;      // (token, key) that are visible: scores written
  int columns = 0;             // (token, head) columns of a block that are multiplied
  double folded_share = 1;     // of these columns, the part that is folded
};

// Contiguous keys: one request whose tokens, under a causal mask, are the last ones of its keys. Paged keys: as
// many requests of the same size, num_keys each. Errors: invalid_argument for sizes that are not positive, or
// a plan of a family that is not known here.
Result<TileShares> tile_shares(const Spec& spec, const Plan& plan, const ProblemSize& size, int num_sms);

}  // namespace mlaindex::model
