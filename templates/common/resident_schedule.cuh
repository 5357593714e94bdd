// Shares of a launch for CTAs that keep keys: each has a tile of RESIDENT_KEYS keys, and of the tokens a part.
//
// How many CTAs a tile gets follows from sizes alone, so that nothing has to be read or counted before keys and
// queries are asked for: the tokens of one request, of which later ones see more where the mask is causal, are shared
// out evenly; other batches are scored all the same, but less evenly. The token blocks of a tile go round among its
// CTAs forth and back, so that each gets long and short ones.
#pragma once
#include "common/resident_keys.cuh"
#include "common/token_block.cuh"

// One token block against some of the keys of a tile, in subtiles of TILE_KEYS.
struct Work {
  int first_token;
  int first_tile;  // subtile
  int num_tiles;   // 0: there is no more work
  int loads;       // how often the CTA has loaded keys before those of this work
};

struct KeyShare {
  int tile;   // the CTA's first one; it goes on with every gridDim.x-th
  int part;   // of the tokens
  int parts;
};

__device__ __forceinline__ int count_key_tiles(const ScoreArguments& args) {
  return static_cast<int>((args.num_keys + (RESIDENT_KEYS - 1u)) / RESIDENT_KEYS);
}

// By a whole warp.
__device__ __forceinline__ KeyShare key_share(const ScoreArguments& args) {
  const int num_tiles = count_key_tiles(args);
  const int ctas = gridDim.x;
  const int cta = blockIdx.x;
  if (num_tiles >= ctas) return {cta, 0, 1};
#if MASK_CAUSAL
  if (num_tiles <= 32) {
    // A lane a tile. Its share is that of the tokens that see its first subtile, and of those that see its last.
    const int lane = lane_index();
    const float hidden = static_cast<float>(lane) * RESIDENT_KEYS - (static_cast<float>(args.num_keys) - args.num_tokens);
    const float seen = max(0.0f, min(1.0f * args.num_tokens, args.num_tokens - hidden)) +
                       max(0.0f, min(1.0f * args.num_tokens, args.num_tokens - hidden - (RESIDENT_KEYS - TILE_KEYS)));
    const float weight = lane < num_tiles ? seen + 1.0f : 0.0f;
    float total = weight;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) total += __shfl_xor_sync(0xffffffff, total, distance);
    // Rounded down, and a little less: the sum is at most the number of CTAs.
    const int parts = lane < num_tiles ? 1 + static_cast<int>(0.9999f * (ctas - num_tiles) * weight / total) : 0;
    const int reached = sum_up_to_lane(parts);
    const u32 behind = __ballot_sync(0xffffffff, reached > cta);
    if (behind == 0) return {num_tiles, 0, 1};
    const int owner = __ffs(behind) - 1;
    const int parts_of_tile = __shfl_sync(0xffffffff, parts, owner);
    return {owner, cta - __shfl_sync(0xffffffff, reached, owner) + parts_of_tile, parts_of_tile};
  }
#endif
  const int parts = ctas / num_tiles;
  return {cta / parts, cta % parts, parts};  // the last CTAs may find no tile
}

// The index of the i-th token block of a share.
__device__ __forceinline__ u32 share_block(const KeyShare& share, u32 i) {
  return i * share.parts + (i % 2 == 0 ? share.part : share.parts - 1 - share.part);
}

// Calls hand_on(work) for every block of the CTA's share that sees keys of its tile, by a whole warp.
template <typename HandOn>
__device__ __forceinline__ void walk_share(const ScoreArguments& args, HandOn hand_on) {
  const int lane = lane_index();
  const KeyShare share = key_share(args);
  const int num_key_tiles = count_key_tiles(args);
  const u32 num_blocks = count_blocks(args);
  int loads = 0;
#pragma unroll 1
  for (int tile = share.tile; tile < num_key_tiles; tile += gridDim.x) {
    const int loads_of_tile = tile == share.tile ? 0 : loads + 1;
    const int first_key = tile * RESIDENT_KEYS;
#pragma unroll 1
    for (u32 first = 0; first * share.parts < num_blocks; first += WARP_BLOCKS) {
      const u32 lane_block = share_block(share, first + lane / LANES_OF_BLOCK);
      const BlockKeys keys = block_keys(lane_block, args);
      const int begin = max(keys.begin - first_key, 0);  // in the tile
      const int end = min(keys.end - first_key, RESIDENT_KEYS);
      const int first_subtile = begin / TILE_KEYS;
      const int num_subtiles = (end - 1) / TILE_KEYS + 1 - first_subtile;
      u32 owners = __ballot_sync(0xffffffff, begin < end && lane % LANES_OF_BLOCK == 0);
#pragma unroll 1
      for (; owners != 0; owners &= owners - 1) {
        const int owner = __ffs(owners) - 1;
        const int first_token = __shfl_sync(0xffffffff, lane_block, owner) * TOKENS_PER_BLOCK;
        const int first_tile = tile * RESIDENT_TILES + __shfl_sync(0xffffffff, first_subtile, owner);
        const int num_tiles = __shfl_sync(0xffffffff, num_subtiles, owner);
        hand_on({first_token, first_tile, num_tiles, loads_of_tile});
        loads = loads_of_tile;
      }
    }
  }
}
