// Shares of a launch for CTAs that keep keys: each has a tile of RESIDENT_KEYS keys, and of the tokens a part.
//
// What is dealt out are units: a token block against a piece of a tile, which is the whole tile where there are blocks
// enough, else a half or a subtile. How many a CTA takes and how large a piece is, the host decides from sizes alone
// (generator/resident_schedule.h), so that nothing has to be read or counted before keys and queries are asked for: the
// tokens of one request, of which later ones see more where the mask is causal, are shared out evenly; other batches are
// scored all the same, but less evenly. The units of a tile go round among its CTAs forth and back, those of the last
// tokens first, so that each CTA gets long and short ones.
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
  int part;   // of the units
  int parts;
};

__device__ __forceinline__ int count_key_tiles(const ScoreArguments& args) {
  return static_cast<int>((args.num_keys + (RESIDENT_KEYS - 1u)) / RESIDENT_KEYS);
}

// Subtiles of a piece.
__device__ __forceinline__ int piece_tiles(const ScoreArguments& args) { return RESIDENT_TILES >> args.log2_pieces; }

#if MASK_CAUSAL
// The units of a tile of which some token sees a key, in a batch of one request.
__device__ __forceinline__ u32 count_seen_units(int tile, u32 num_blocks, const ScoreArguments& args) {
  u32 units = 0;
#pragma unroll 1
  for (int subtile = 0; subtile < RESIDENT_TILES; subtile += piece_tiles(args)) {
    // As many of the last tokens see the piece's first key.
    const int tokens = min(args.num_tokens, args.num_keys - tile * RESIDENT_KEYS - subtile * TILE_KEYS);
    if (tokens > 0) units += num_blocks - static_cast<u32>(args.num_tokens - tokens) / TOKENS_PER_BLOCK;
  }
  return units;
}
#endif

// CTAs for so many units, at least one.
__device__ __forceinline__ u32 count_parts(u32 units, const ScoreArguments& args) {
  return 1 + static_cast<u32>((units - static_cast<u64>(units > 0)) * args.cta_of_unit >> 31);
}

// Every CTA has one, because the grid has as many as the tiles. By a whole warp.
__device__ __forceinline__ KeyShare key_share(const ScoreArguments& args) {
  const int num_tiles = count_key_tiles(args);
  const int cta = blockIdx.x;
  if (num_tiles >= gridDim.x) return {cta, 0, 1};
  const u32 num_blocks = count_blocks(args);
#if MASK_CAUSAL
  if (num_tiles <= 32) {
    // A lane a tile.
    const int lane = lane_index();
    const u32 parts = lane < num_tiles ? count_parts(count_seen_units(lane, num_blocks, args), args) : 0;
    const u32 reached = sum_up_to_lane(parts);
    const int owner = __ffs(__ballot_sync(0xffffffff, reached > cta)) - 1;
    const int parts_of_tile = __shfl_sync(0xffffffff, parts, owner);
    return {owner, cta - static_cast<int>(__shfl_sync(0xffffffff, reached, owner)) + parts_of_tile, parts_of_tile};
  }
#endif
  const int parts = count_parts(num_blocks << args.log2_pieces, args);
  return {cta / parts, cta % parts, parts};
}

// The index of the i-th unit of a share.
__device__ __forceinline__ u32 share_unit(const KeyShare& share, u32 i) {
  return i * share.parts + (i % 2 == 0 ? share.part : share.parts - 1 - share.part);
}

// A warp's way through the share of its CTA, on which each lane, or a few together, look at one unit.
//
// Units of the first piece come before those of the next: where few tokens see a piece, the units that see none are
// together, and no CTA gets more of them than others.
struct ShareWalk {
  KeyShare share;
  int tile;
  u32 first;          // of the units looked at
  u32 block;          // of the lane's unit
  u32 subtiles;       // that it sees: 8 times the first one, and their number
  u32 owners;         // lanes whose units see keys, one for each
};

// Looks at the walk's units, by a whole warp.
__device__ __forceinline__ void look_at_units(ShareWalk& walk, const ScoreArguments& args) {
  const u32 num_blocks = count_blocks(args);
  const u32 unit = share_unit(walk.share, walk.first + lane_index() / LANES_OF_BLOCK);
  const u32 piece = (unit >= num_blocks) + (unit >= 2 * num_blocks) + (unit >= 3 * num_blocks);
  const bool exists = unit < num_blocks << args.log2_pieces;
  walk.block = exists ? num_blocks - 1 - (unit - piece * num_blocks) : num_blocks;  // past the last, where no token is
  const BlockKeys keys = block_keys(walk.block, args);
  const int piece_keys = piece_tiles(args) * TILE_KEYS;
  const int first_key = walk.tile * RESIDENT_KEYS + piece * piece_keys;
  const int begin = max(keys.begin - first_key, 0);  // in the piece
  const int end = min(keys.end - first_key, piece_keys);
  const u32 first_subtile = static_cast<u32>(first_key + begin) / TILE_KEYS;
  walk.subtiles = 7 * first_subtile + static_cast<u32>(first_key + end - 1) / TILE_KEYS + 1;
  walk.owners = __ballot_sync(0xffffffff, begin < end && lane_index() % LANES_OF_BLOCK == 0);
}

// At the first units of the CTA's share.
__device__ __forceinline__ ShareWalk start_walk(const ScoreArguments& args) {
  ShareWalk walk;
  walk.share = key_share(args);
  walk.tile = walk.share.tile;
  walk.first = 0;
  look_at_units(walk, args);
  return walk;
}

// Calls hand_on(work, first of its tile) for every unit of a walk that has just been started, if it sees keys of its tile,
// by a whole warp. Returns how often keys have to be loaded.
template <typename HandOn>
__device__ __forceinline__ int walk_share(ShareWalk& walk, const ScoreArguments& args, HandOn hand_on) {
  int loads = 0;  // before this tile's
  bool first_of_tile = true;
#pragma unroll 1
  while (true) {
#pragma unroll 1
    for (; walk.owners != 0; walk.owners &= walk.owners - 1) {
      const int owner = __ffs(walk.owners) - 1;
      const int first_token = __shfl_sync(0xffffffff, walk.block, owner) * TOKENS_PER_BLOCK;
      const int subtiles = __shfl_sync(0xffffffff, walk.subtiles, owner);
      hand_on({first_token, subtiles / 8, subtiles % 8, loads}, first_of_tile);
      first_of_tile = false;
    }
    walk.first += WARP_BLOCKS;
    if (walk.first * walk.share.parts >= count_blocks(args) << args.log2_pieces) {
      walk.first = 0;
      walk.tile += gridDim.x;
      loads += !first_of_tile;
      first_of_tile = true;
      if (walk.tile >= count_key_tiles(args)) return loads;
    }
    look_at_units(walk, args);
  }
}
