// An equal share of a launch's key tiles for every CTA.
//
// The tiles of all token blocks, one block after the other, each behind a few that stand for the cost
// of starting on it, form one sequence; CTA c takes the c-th of gridDim.x equal parts of it, wherever
// they begin and end: scores of different keys do not depend on each other. How many tiles a block
// has follows from the visible ranges of its tokens, which only the device knows, so every CTA counts
// them first. Counts fit 32 bits: more than 2^32 tiles would write more scores than a GPU has memory.
#pragma once
#include "common/visible_range.cuh"

constexpr u32 BLOCK_START_TILES = 1;  // what starting on a block costs, in tiles: measured
constexpr u32 SCHEDULE_UNITS = 256;   // runs of blocks whose tiles are counted together

// Some tiles of one token block.
struct Work {
  int first_token;
  int first_tile;
  int num_tiles;  // 0: there is no more work
  int reserved;
};

// The keys that some token of a block sees, and perhaps others between them. begin >= end: none.
struct BlockKeys {
  int begin;
  int end;
};

__device__ __forceinline__ void add_range(BlockKeys& keys, VisibleRange range) {
  if (range.begin == range.end) return;
  keys.begin = min(keys.begin, range.begin);
  keys.end = max(keys.end, range.end);
}

#if MASK_RANGES
// Every range is read. So that a block of many tokens takes no longer, several lanes share it.
constexpr int LANES_OF_BLOCK = TOKENS_PER_BLOCK > 8 ? TOKENS_PER_BLOCK / 8 : 1;

// The least begin and the greatest end among the lanes of a block. One statement a step, because the
// compiler's time grows with their number.
template <int distance>
__device__ __forceinline__ void cover_block(BlockKeys& keys) {
  asm volatile(
      "{\n"
      "  .reg .b32 other;\n"
      "  shfl.sync.bfly.b32 other, %0, %2, 31, -1;\n"
      "  min.s32 %0, %0, other;\n"
      "  shfl.sync.bfly.b32 other, %1, %2, 31, -1;\n"
      "  max.s32 %1, %1, other;\n"
      "}\n"
      : "+r"(keys.begin), "+r"(keys.end)
      : "n"(distance));
  if constexpr (2 * distance < LANES_OF_BLOCK) cover_block<2 * distance>(keys);
}

__device__ __forceinline__ BlockKeys block_keys(u32 block, const ScoreArguments& args) {
  const u32 first_token = block * TOKENS_PER_BLOCK + lane_index() % LANES_OF_BLOCK;
  BlockKeys keys = {0x7fffffff, 0};
#pragma unroll
  for (int i = 0; i < TOKENS_PER_BLOCK; i += LANES_OF_BLOCK) {
    if (first_token + i < args.num_tokens) add_range(keys, visible_range(first_token + i, args));
  }
  if constexpr (LANES_OF_BLOCK > 1) cover_block<1>(keys);
  return keys;
}
#else
constexpr int LANES_OF_BLOCK = 1;

// Of each request, the last of its tokens in the block sees the most.
__device__ __forceinline__ BlockKeys block_keys(u32 block, const ScoreArguments& args) {
  BlockKeys keys = {0x7fffffff, 0};
  const int first_token = block * TOKENS_PER_BLOCK;
  if (static_cast<u32>(first_token) >= args.num_tokens) return keys;
#if MASK_RAGGED
  const int end_token = min(first_token + TOKENS_PER_BLOCK, args.num_tokens);
  int next_token = first_token;
  int index = request_of(first_token, args);
#pragma unroll 1
  do {
    const Request request = read_request(index, args);
    const int end = min(request.end_query, end_token);
    if (end > next_token) {
      next_token = end;
      add_range(keys, visible_range(end - 1, request, args));
    }
  } while (next_token < end_token && ++index < args.num_requests);
#else
  add_range(keys, visible_range(first_token, args));
#endif
  return keys;
}
#endif

constexpr u32 WARP_BLOCKS = 32 / LANES_OF_BLOCK;  // blocks a warp looks at together

// Of a block that sees keys begin to end: its place in the sequence. Nothing when it sees none.
__device__ __forceinline__ u32 length_in_sequence(u32 begin, u32 end) {
  return begin < end ? BLOCK_START_TILES + 1 + (end - 1) / TILE_KEYS - begin / TILE_KEYS : 0;
}

__device__ __forceinline__ u32 count_blocks(const ScoreArguments& args) {
  return (args.num_tokens - 1u) / TOKENS_PER_BLOCK + 1;
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

// What of the block that sees keys begin to end is this CTA's, perhaps nothing. Moves on to the next
// block.
__device__ __forceinline__ Work take_share(TileShare& share, int first_token, u32 begin, u32 end) {
  const u32 first = share.position + BLOCK_START_TILES;
  const u32 from = max(share.begin, first);
  share.position += length_in_sequence(begin, end);
  const u32 to = max(from, min(share.end, share.position));
  return {first_token, static_cast<int>(begin / TILE_KEYS + from - first), static_cast<int>(to - from), 0};
}

// Stages what each token of a block sees, by one warp; nothing past the last token.
__device__ __forceinline__ void stage_ranges(VisibleRange* staged, int first_token, const ScoreArguments& args) {
#pragma unroll 1
  for (int token = lane_index(); token < TOKENS_PER_BLOCK; token += 32) {
    const bool exists = first_token + token < args.num_tokens;
    staged[token] = exists ? visible_range(first_token + token, args) : VisibleRange{0, 0};
  }
}
