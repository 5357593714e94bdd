// An equal share of a launch's key tiles for every CTA.
//
// The tiles of all token blocks, one block after the other, each behind a few that stand for the cost
// of starting on it, form one sequence; CTA c takes the c-th of gridDim.x equal parts of it, wherever
// they begin and end: scores of different keys do not depend on each other. How many tiles a block has follows from the visible ranges of its tokens, which only
// the device knows, so every CTA counts them first. Counts fit 32 bits: more than 2^32 tiles would
// write more scores than a GPU has memory.
#pragma once
#include "common/visible_range.cuh"

constexpr u32 BLOCK_START_TILES = 2;  // what starting on a block costs, in tiles
constexpr int SCHEDULE_UNITS = 256;  // runs of tokens whose tiles are counted together
constexpr int LANES_OF_BLOCK = TOKENS_PER_BLOCK < 32 ? TOKENS_PER_BLOCK : 32;
constexpr int TOKENS_OF_LANE = TOKENS_PER_BLOCK / LANES_OF_BLOCK;
constexpr int WARP_TOKENS = 32 * TOKENS_OF_LANE;  // tokens a warp looks at together: whole blocks

// Some tiles of one token block.
struct Work {
  int first_token;
  int first_tile;
  int num_tiles;  // 0: there is no more work
  int reserved;
};

// What the lanes of a warp know of WARP_TOKENS tokens.
struct WarpRanges {
  VisibleRange of_token[TOKENS_OF_LANE];  // of tokens lane + 32 * i
  int begin;                              // covers all tokens of the lane's block; begin > end: none sees a key
  int end;
};

__device__ __forceinline__ WarpRanges warp_ranges(long long first_token, const ScoreArguments& args) {
  WarpRanges ranges;
  ranges.begin = 0x7fffffff;
  ranges.end = 0;
#pragma unroll
  for (int i = 0; i < TOKENS_OF_LANE; ++i) {
    const long long token = first_token + lane_index() + 32 * i;
    const VisibleRange range = token < args.num_tokens ? visible_range(static_cast<int>(token), args) : VisibleRange{0, 0};
    ranges.of_token[i] = range;
    if (range.begin >= range.end) continue;
    ranges.begin = min(ranges.begin, range.begin);
    ranges.end = max(ranges.end, range.end);
  }
#pragma unroll
  for (int distance = 1; distance < LANES_OF_BLOCK; distance *= 2) {
    ranges.begin = min(ranges.begin, __shfl_xor_sync(0xffffffff, ranges.begin, distance));
    ranges.end = max(ranges.end, __shfl_xor_sync(0xffffffff, ranges.end, distance));
  }
  return ranges;
}

// Of a block that sees keys begin to end: its place in the sequence. Nothing when it sees none.
__device__ __forceinline__ u32 length_in_sequence(int begin, int end) {
  return begin < end ? BLOCK_START_TILES + (end - 1) / TILE_KEYS + 1 - begin / TILE_KEYS : 0;
}

// Tokens of a unit: whole blocks, and all tokens fit into SCHEDULE_UNITS.
__device__ __forceinline__ int schedule_unit(const ScoreArguments& args) {
  const int least = (args.num_tokens - 1) / SCHEDULE_UNITS + 1;
  return (least + WARP_TOKENS - 1) / WARP_TOKENS * WARP_TOKENS;
}

// Counts the tiles of every unit that has tokens, by all warps of the CTA. A CTA barrier must follow.
__device__ __forceinline__ void count_tiles(u32* tiles_of_unit, int warp, const ScoreArguments& args) {
  const int lane = lane_index();
  const int unit = schedule_unit(args);
#pragma unroll 1
  for (int i = warp; static_cast<u32>(i) * unit < args.num_tokens; i += NUM_THREADS / 32) {
    const u32 first = static_cast<u32>(i) * unit;
    u32 tiles = 0;
#pragma unroll 1
    for (int offset = 0; offset < unit && first + offset < args.num_tokens; offset += WARP_TOKENS) {
      const WarpRanges ranges = warp_ranges(first + offset, args);
      const u32 length = length_in_sequence(ranges.begin, ranges.end);
      tiles += __reduce_add_sync(0xffffffff, lane % LANES_OF_BLOCK == 0 ? length : 0);
    }
    if (lane == 0) tiles_of_unit[i] = tiles;
  }
}

// A CTA's part of the sequence, and where to start looking for it.
struct TileShare {
  u32 begin;
  u32 end;          // begin == end: no work
  u32 position;     // tiles before first_token, at most begin
  int first_token;  // of a unit
};

// The share of this CTA, found by a whole warp from the counts of all units.
__device__ __forceinline__ TileShare tile_share(const u32* tiles_of_unit, const ScoreArguments& args) {
  constexpr int UNITS_OF_LANE = SCHEDULE_UNITS / 32;
  const int lane = lane_index();
  const int unit_tokens = schedule_unit(args);
  u32 tiles = 0;
#pragma unroll
  for (int i = 0; i < UNITS_OF_LANE; ++i) {
    const u32 unit = lane * UNITS_OF_LANE + i;
    if (unit * unit_tokens < args.num_tokens) tiles += tiles_of_unit[unit];
  }
  u32 inclusive = tiles;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const u32 before = __shfl_up_sync(0xffffffff, inclusive, distance);
    if (lane >= distance) inclusive += before;
  }

  const u32 total = __shfl_sync(0xffffffff, inclusive, 31);
  const u32 least = total / gridDim.x;
  const u32 longer = total % gridDim.x;  // CTAs that take one tile more
  TileShare share;
  share.begin = least * blockIdx.x + min(blockIdx.x, longer);
  share.end = share.begin + least + (blockIdx.x < longer ? 1 : 0);
  share.position = share.end;
  share.first_token = 0;
  if (share.begin == share.end) return share;

  const int owner = __ffs(__ballot_sync(0xffffffff, inclusive > share.begin)) - 1;
  share.position = __shfl_sync(0xffffffff, inclusive - tiles, owner);
  int unit = owner * UNITS_OF_LANE;
#pragma unroll 1
  while (share.position + tiles_of_unit[unit] <= share.begin) share.position += tiles_of_unit[unit++];
  share.first_token = unit * unit_tokens;
  return share;
}

// What of the block that sees keys begin to end is this CTA's, perhaps nothing. Moves on to the next
// block.
__device__ __forceinline__ Work take_share(TileShare& share, int first_token, int begin, int end) {
  const u32 length = length_in_sequence(begin, end);
  const u32 from = max(share.begin, share.position + BLOCK_START_TILES);
  const u32 to = min(share.end, share.position + length);
  const int first_tile = begin / TILE_KEYS + static_cast<int>(from - share.position - BLOCK_START_TILES);
  share.position += length;
  return {first_token, first_tile, from < to ? static_cast<int>(to - from) : 0, 0};
}
