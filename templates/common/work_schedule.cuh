// An equal share of a launch's key tiles for every CTA.
//
// The tiles of all token blocks, one block after the other, each behind a few that stand for the cost
// of starting on it, form one sequence; CTA c takes the c-th of gridDim.x equal parts of it, wherever
// they begin and end: scores of different keys do not depend on each other. How many tiles a block
// has follows from the visible ranges of its tokens, which only the device knows, so every CTA counts
// them first. Counts fit 32 bits: more than 2^32 tiles would write more scores than a GPU has memory.
#pragma once
#include "common/visible_range.cuh"

constexpr u32 BLOCK_START_TILES = 2;  // what starting on a block costs, in tiles
constexpr u32 SCHEDULE_UNITS = 256;   // runs of tokens whose tiles are counted together
constexpr int LANES_OF_BLOCK = TOKENS_PER_BLOCK < 32 ? TOKENS_PER_BLOCK : 32;
constexpr int TOKENS_OF_LANE = TOKENS_PER_BLOCK / LANES_OF_BLOCK;
constexpr u32 WARP_TOKENS = 32 * TOKENS_OF_LANE;  // tokens a warp looks at together: whole blocks
static_assert(NUM_THREADS >= SCHEDULE_UNITS, "a thread clears a unit");

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

// The least begin and the greatest end among the lanes of a block. One statement a step, because the
// compiler's time grows with their number.
template <int distance>
__device__ __forceinline__ void cover_block(int& begin, int& end) {
  asm volatile(
      "{\n"
      "  .reg .b32 other;\n"
      "  shfl.sync.bfly.b32 other, %0, %2, 31, -1;\n"
      "  min.s32 %0, %0, other;\n"
      "  shfl.sync.bfly.b32 other, %1, %2, 31, -1;\n"
      "  max.s32 %1, %1, other;\n"
      "}\n"
      : "+r"(begin), "+r"(end)
      : "n"(distance));
  if constexpr (2 * distance < LANES_OF_BLOCK) cover_block<2 * distance>(begin, end);
}

__device__ __forceinline__ WarpRanges warp_ranges(u32 first_token, const ScoreArguments& args) {
  WarpRanges ranges;
  ranges.begin = 0x7fffffff;
  ranges.end = 0;
#pragma unroll
  for (int i = 0; i < TOKENS_OF_LANE; ++i) {
    const u32 token = first_token + lane_index() + 32 * i;
    const VisibleRange range = token < args.num_tokens ? visible_range(token, args) : VisibleRange{0, 0};
    ranges.of_token[i] = range;
    if (range.begin == range.end) continue;
    ranges.begin = min(ranges.begin, range.begin);
    ranges.end = max(ranges.end, range.end);
  }
  if constexpr (LANES_OF_BLOCK == 32) {
    ranges.begin = __reduce_min_sync(0xffffffff, ranges.begin);
    ranges.end = __reduce_max_sync(0xffffffff, ranges.end);
  } else if constexpr (LANES_OF_BLOCK > 1) {
    cover_block<1>(ranges.begin, ranges.end);
  }
  return ranges;
}

// Of a block that sees keys begin to end: its place in the sequence. Nothing when it sees none.
__device__ __forceinline__ u32 length_in_sequence(u32 begin, u32 end) {
  return begin < end ? BLOCK_START_TILES + 1 + (end - 1) / TILE_KEYS - begin / TILE_KEYS : 0;
}

// Tokens of a unit: whole blocks, and all tokens fit into SCHEDULE_UNITS.
__device__ __forceinline__ u32 schedule_unit(const ScoreArguments& args) {
  const u32 least = (args.num_tokens - 1u) / SCHEDULE_UNITS + 1;
  return (least + WARP_TOKENS - 1) / WARP_TOKENS * WARP_TOKENS;
}

// Counts the tiles of every unit, by all warps of the CTA. A CTA barrier must follow.
__device__ __forceinline__ void count_tiles(u32* tiles_of_unit, int warp, const ScoreArguments& args) {
  const int lane = lane_index();
  const u32 unit = schedule_unit(args);
  const u32 num_tokens = args.num_tokens;
  if (threadIdx.x < SCHEDULE_UNITS && threadIdx.x * unit >= num_tokens) tiles_of_unit[threadIdx.x] = 0;
#pragma unroll 1
  for (u32 i = warp; i * unit < num_tokens; i += NUM_THREADS / 32) {
    const u32 end = min(num_tokens, (i + 1) * unit);
    u32 tiles = 0;  // of the lane's blocks
#pragma unroll 1
    for (u32 token = i * unit; token < end; token += WARP_TOKENS) {
      const WarpRanges ranges = warp_ranges(token, args);
      tiles += length_in_sequence(ranges.begin, ranges.end);
    }
    tiles = __reduce_add_sync(0xffffffff, lane % LANES_OF_BLOCK == 0 ? tiles : 0);
    if (lane == 0) tiles_of_unit[i] = tiles;
  }
}

// A CTA's part of the sequence, and where to start looking for it.
struct TileShare {
  u32 begin;
  u32 end;          // begin == end: no work
  u32 position;     // tiles before first_token, at most begin
  u32 first_token;  // of a unit
};

// The sum of value over the lanes up to this one.
__device__ __forceinline__ u32 sum_up_to_lane(u32 value) {
  asm volatile(
      "{\n"
      "  .reg .b32 before;\n"
      "  .reg .pred exists;\n"
      "  shfl.sync.up.b32 before|exists, %0, 1, 0, -1;\n"
      "  @exists add.u32 %0, %0, before;\n"
      "  shfl.sync.up.b32 before|exists, %0, 2, 0, -1;\n"
      "  @exists add.u32 %0, %0, before;\n"
      "  shfl.sync.up.b32 before|exists, %0, 4, 0, -1;\n"
      "  @exists add.u32 %0, %0, before;\n"
      "  shfl.sync.up.b32 before|exists, %0, 8, 0, -1;\n"
      "  @exists add.u32 %0, %0, before;\n"
      "  shfl.sync.up.b32 before|exists, %0, 16, 0, -1;\n"
      "  @exists add.u32 %0, %0, before;\n"
      "}\n"
      : "+r"(value));
  return value;
}

// The share of this CTA, found by a whole warp from the counts of all units.
__device__ __forceinline__ TileShare tile_share(const u32* tiles_of_unit, const ScoreArguments& args) {
  constexpr int UNITS_OF_LANE = SCHEDULE_UNITS / 32;
  const u32* of_lane = tiles_of_unit + lane_index() * UNITS_OF_LANE;
  u32 tiles = 0;
#pragma unroll
  for (int i = 0; i < UNITS_OF_LANE; i += 4) {
    const uint4 four = *reinterpret_cast<const uint4*>(of_lane + i);
    tiles += four.x + four.y + four.z + four.w;
  }
  const u32 inclusive = sum_up_to_lane(tiles);

  const u32 total = __shfl_sync(0xffffffff, inclusive, 31);
  const u32 length = (total + gridDim.x - 1) / gridDim.x;
  TileShare share;
  share.begin = min(total, blockIdx.x * length);
  share.end = min(total, share.begin + length);
  share.position = share.end;
  share.first_token = 0;
  if (share.begin == share.end) return share;

  const int owner = __ffs(__ballot_sync(0xffffffff, inclusive > share.begin)) - 1;
  share.position = __shfl_sync(0xffffffff, inclusive - tiles, owner);
  u32 unit = owner * UNITS_OF_LANE;
#pragma unroll 1
  while (share.position + tiles_of_unit[unit] <= share.begin) share.position += tiles_of_unit[unit++];
  share.first_token = unit * schedule_unit(args);
  return share;
}

// What of the block that sees keys begin to end is this CTA's, perhaps nothing. Moves on to the next
// block.
__device__ __forceinline__ Work take_share(TileShare& share, int first_token, u32 begin, u32 end) {
  const u32 first = share.position + BLOCK_START_TILES;
  const u32 from = max(share.begin, first);
  share.position += length_in_sequence(begin, end);
  const u32 to = max(from, min(share.end, share.position));
  return {first_token, static_cast<int>(begin / TILE_KEYS + from - first), static_cast<int>(to - from), 0};
}
