// An equal share of a launch's key tiles for every CTA.
//
// The tiles of all token blocks, one block after the other, each behind a few that stand for the cost
// of starting on it, form one sequence; CTA c takes the c-th of gridDim.x equal parts of it, wherever
// they begin and end: scores of different keys do not depend on each other. How many tiles a block
// has follows from the visible ranges of its tokens, which only the device knows, so every CTA counts
// them first. Counts fit 32 bits: more than 2^32 tiles would write more scores than a GPU has memory.
#pragma once
#include "common/token_block.cuh"

constexpr u32 BLOCK_START_TILES = 1;  // what starting on a block costs, in tiles: measured
constexpr u32 SCHEDULE_UNITS = 256;   // runs of blocks whose tiles are counted together

// Some tiles of one token block.
struct Work {
  int first_token;
  int first_tile;
  int num_tiles;  // 0: there is no more work
  int reserved;
};

// Of a block that sees keys begin to end: its place in the sequence. Nothing when it sees none.
__device__ __forceinline__ u32 length_in_sequence(u32 begin, u32 end) {
  return begin < end ? BLOCK_START_TILES + 1 + (end - 1) / TILE_KEYS - begin / TILE_KEYS : 0;
}

// Blocks of a unit: all of them fit into SCHEDULE_UNITS.
__device__ __forceinline__ u32 schedule_unit(const ScoreArguments& args) {
  return (count_blocks(args) - 1) / SCHEDULE_UNITS + 1;
}

// Counts the tiles of every unit, by all warps of the CTA. A CTA barrier must follow.
__device__ __forceinline__ void count_tiles(u32* tiles_of_unit, int warp, const ScoreArguments& args) {
  const u32 unit_blocks = schedule_unit(args);
  const u32 lane = lane_index();
#pragma unroll 1
  for (u32 unit = warp * WARP_BLOCKS + lane / LANES_OF_BLOCK; unit < SCHEDULE_UNITS; unit += NUM_THREADS / LANES_OF_BLOCK) {
    u32 tiles = 0;
#pragma unroll 1
    for (u32 i = 0; i < unit_blocks; ++i) {
      const BlockKeys keys = block_keys(unit * unit_blocks + i, args);
      tiles += length_in_sequence(keys.begin, keys.end);
    }
    if (lane % LANES_OF_BLOCK == 0) tiles_of_unit[unit] = tiles;
  }
}

// A CTA's part of the sequence, and where to start looking for it.
struct TileShare {
  u32 begin;
  u32 end;          // begin == end: no work
  u32 position;     // tiles before first_block, at most begin
  u32 first_block;  // of a unit
};

// The share of this CTA, found by a whole warp from the counts of all units.
__device__ __forceinline__ TileShare tile_share(const u32* tiles_of_unit, const ScoreArguments& args) {
  constexpr int UNITS_OF_LANE = SCHEDULE_UNITS / 32;
  const u32 first_unit = lane_index() * UNITS_OF_LANE;
  u32 of_unit[UNITS_OF_LANE];
  u32 tiles = 0;
#pragma unroll
  for (int i = 0; i < UNITS_OF_LANE; ++i) {
    of_unit[i] = tiles_of_unit[first_unit + i];
    tiles += of_unit[i];
  }
  const u32 inclusive = sum_up_to_lane(tiles);

  const u32 total = __shfl_sync(0xffffffff, inclusive, 31);
  const u32 length = (total + gridDim.x - 1) / gridDim.x;
  TileShare share;
  share.begin = min(total, blockIdx.x * length);
  share.end = min(total, share.begin + length);

  // The lane's first unit that ends behind the begin of the share; among the lanes, the first that has one.
  u32 position = inclusive - tiles;
  u32 unit = first_unit;
#pragma unroll
  for (int i = 0; i < UNITS_OF_LANE; ++i) {
    if (position + of_unit[i] > share.begin) break;
    position += of_unit[i];
    ++unit;
  }
  const int owner = __ffs(__ballot_sync(0xffffffff, inclusive > share.begin)) - 1;  // -1, and so lane 31: no work
  share.position = __shfl_sync(0xffffffff, position, owner);
  share.first_block = __shfl_sync(0xffffffff, unit, owner) * schedule_unit(args);
  return share;
}

// What of the block that sees keys begin to end is the share's, perhaps nothing. Moves on to the next
// block.
__device__ __forceinline__ Work take_share(TileShare& share, int first_token, u32 begin, u32 end) {
  const u32 first = share.position + BLOCK_START_TILES;
  const u32 from = max(share.begin, first);
  share.position += length_in_sequence(begin, end);
  const u32 to = max(from, min(share.end, share.position));
  return {first_token, static_cast<int>(begin / TILE_KEYS + from - first), static_cast<int>(to - from), 0};
}

// Calls hand_on(work) for every block of the share that sees keys, by a whole warp.
template <typename HandOn>
__device__ __forceinline__ void walk_share(TileShare share, const ScoreArguments& args, HandOn hand_on) {
#pragma unroll 1
  for (u32 first = share.first_block; share.position < share.end; first += WARP_BLOCKS) {
    const BlockKeys keys = block_keys(first + lane_index() / LANES_OF_BLOCK, args);
#pragma unroll 1
    for (int i = 0; i < WARP_BLOCKS && share.position < share.end; ++i) {
      const int begin = __shfl_sync(0xffffffff, keys.begin, i * LANES_OF_BLOCK);
      const int end = __shfl_sync(0xffffffff, keys.end, i * LANES_OF_BLOCK);
      const Work work = take_share(share, (first + i) * TOKENS_PER_BLOCK, begin, end);
      if (work.num_tiles > 0) hand_on(work);
    }
  }
}
