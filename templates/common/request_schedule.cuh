// An equal share of a launch's key tiles for every CTA, when every request has keys of its own.
//
// The tokens of a request form blocks of up to TOKENS_PER_BLOCK. The key tiles of all blocks, one block
// after the other, each behind a few that stand for the cost of starting on it, form one sequence; CTA c
// takes the c-th of gridDim.x equal parts of it, wherever they begin and end: scores of different keys
// do not depend on each other. Lengths are known to the device only, so every CTA counts the tiles first:
// no launch before this one, and nothing that can be stale.
#pragma once
#include "common/visible_range.cuh"

constexpr u32 BLOCK_START_TILES = 2;  // what starting on a block costs, in tiles
constexpr int SCHEDULE_UNITS = 256;   // runs of blocks whose tiles are counted together

// Some tiles of one block.
struct alignas(16) Work {
  int first_token;
  int num_tokens;  // at most TOKENS_PER_BLOCK
  int first_tile;
  int num_tiles;   // 0: there is no more work
  int last_end;    // of the keys that the last token sees, before it is clamped
  int end;         // no token sees this key or later ones
  int request;
  int reserved;
};

// Indices of blocks end here; some have no tokens.
__device__ __forceinline__ int count_blocks(const ScoreArguments& args) {
#if MASK_RAGGED
  return args.num_tokens / TOKENS_PER_BLOCK + args.num_requests;
#else
  return args.num_requests * ((args.pages.next_n - 1) / TOKENS_PER_BLOCK + 1);
#endif
}

// The tokens of a block, and what they see.
struct RequestBlock {
  int request;
  int first_token;
  int num_tokens;
  int last_end;  // of the last token, before it is clamped
  int end;       // no token sees this key or later ones
};

__device__ __forceinline__ int clamped_end(int end, const ScoreArguments& args) { return clamped_range(0, end, args).end; }

#if MASK_RAGGED
// Request b has the blocks from query_offsets[b] / TOKENS_PER_BLOCK + b on, more of them than it needs:
// indices grow with b, so it is found by bisection and nothing has to be summed up.
__device__ __forceinline__ RequestBlock request_block(int index, const ScoreArguments& args) {
  RequestBlock block = {0, 0, 0, 0, 0};
  int high = args.num_requests - 1;
#pragma unroll 1
  while (block.request < high) {
    const int middle = block.request + (high - block.request + 1) / 2;
    if (args.query_offsets[middle] / TOKENS_PER_BLOCK + middle <= index) {
      block.request = middle;
    } else {
      high = middle - 1;
    }
  }
  const int first_query = args.query_offsets[block.request];
  const int end_query = args.query_offsets[block.request + 1];
  const int last = min(end_query, args.num_tokens);
  const int part = index - first_query / TOKENS_PER_BLOCK - block.request;
  const long long first_token = first_query + static_cast<long long>(part) * TOKENS_PER_BLOCK;
  if (part < 0 || first_token < 0 || first_token >= last) return block;
  block.first_token = static_cast<int>(first_token);
  block.num_tokens = min(TOKENS_PER_BLOCK, last - block.first_token);
  block.last_end = max(args.context_lens[block.request], 0);
#if MASK_CAUSAL
  block.last_end -= end_query - block.first_token - block.num_tokens;  // tokens of the request behind the block
#endif
  block.end = clamped_end(block.last_end, args);
  return block;
}
#else
__device__ __forceinline__ RequestBlock request_block(int index, const ScoreArguments& args) {
  RequestBlock block = {index, 0, 0, 0, 0};
  const int next_n = args.pages.next_n;
  int begin = 0;
  if (next_n > TOKENS_PER_BLOCK) {
    const int blocks_per_request = (next_n - 1) / TOKENS_PER_BLOCK + 1;
    block.request = index / blocks_per_request;
    begin = index % blocks_per_request * TOKENS_PER_BLOCK;
  }
  if (block.request >= args.num_requests) return block;
  block.first_token = block.request * next_n + begin;
  block.num_tokens = min(TOKENS_PER_BLOCK, next_n - begin);
#if MASK_CONTEXT_ROWS
#pragma unroll 4  // loads in flight
  for (int i = 0; i < block.num_tokens; ++i) block.last_end = max(block.last_end, args.context_lens[block.first_token + i]);
#else
  const int later_tokens = next_n - begin - block.num_tokens;
  block.last_end = max(args.context_lens[block.request], 0) - later_tokens;
#endif
  block.end = clamped_end(block.last_end, args);
  return block;
}
#endif

// The end of the keys that a token of the work sees; 0 for tokens past the last.
__device__ __forceinline__ int end_of_token(const Work& work, int token, const ScoreArguments& args) {
  if (token >= work.num_tokens) return 0;
#if MASK_CONTEXT_ROWS
  return clamped_end(args.context_lens[work.first_token + token], args);
#elif MASK_CAUSAL
  return clamped_end(work.last_end - (work.num_tokens - 1 - token), args);
#elif MASK_RAGGED
  return clamped_end(work.last_end, args);
#else
  return clamped_end(work.last_end - (work.num_tokens - 1 - token), args);
#endif
}

// Of a block whose tokens see keys up to end: its place in the sequence.
__device__ __forceinline__ u32 length_in_sequence(int end) {
  return end > 0 ? BLOCK_START_TILES + (end - 1) / TILE_KEYS + 1 : 0;
}

// Blocks of a unit: a warp looks at 32 together, and all blocks fit into SCHEDULE_UNITS.
__device__ __forceinline__ int schedule_unit(int blocks) {
  const int least = (blocks - 1) / SCHEDULE_UNITS + 1;
  return (least + 31) / 32 * 32;
}

// Counts the tiles of every unit that has blocks, by all warps of the CTA. A CTA barrier must follow.
__device__ __forceinline__ void count_tiles(u32* tiles_of_unit, int warp, int blocks, const ScoreArguments& args) {
  const int lane = lane_index();
  const int unit = schedule_unit(blocks);
#pragma unroll 1
  for (int i = warp; static_cast<u32>(i) * unit < blocks; i += NUM_THREADS / 32) {
    u32 tiles = 0;
#pragma unroll 1
    for (int offset = 0; offset < unit; offset += 32) {
      tiles += length_in_sequence(request_block(i * unit + offset + lane, args).end);
    }
    tiles = __reduce_add_sync(0xffffffff, tiles);
    if (lane == 0) tiles_of_unit[i] = tiles;
  }
}

// The sum of the values of all lanes up to the own one.
__device__ __forceinline__ u32 inclusive_sum(u32 value) {
  const int lane = lane_index();
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const u32 before = __shfl_up_sync(0xffffffff, value, distance);
    if (lane >= distance) value += before;
  }
  return value;
}

// A CTA's part of the sequence, and where to start looking for it.
struct TileShare {
  u32 begin;
  u32 end;          // begin == end: no work
  u32 position;     // tiles before first_block, at most begin
  int first_block;
};

__device__ __forceinline__ TileShare equal_share(u32 total) {
  const u32 least = total / gridDim.x;
  const u32 longer = total % gridDim.x;  // CTAs that take one tile more
  const u32 begin = least * blockIdx.x + min(blockIdx.x, longer);
  return {begin, begin + least + (blockIdx.x < longer ? 1 : 0), 0, 0};
}

// The share of this CTA, found by a whole warp from the counts of all units.
__device__ __forceinline__ TileShare tile_share(const u32* tiles_of_unit, int blocks) {
  constexpr int UNITS_OF_LANE = SCHEDULE_UNITS / 32;
  const int unit_blocks = schedule_unit(blocks);
  const int first_unit = lane_index() * UNITS_OF_LANE;
  u32 tiles = 0;
#pragma unroll
  for (int unit = 0; unit < UNITS_OF_LANE; ++unit) {
    if (static_cast<u32>(first_unit + unit) * unit_blocks < blocks) tiles += tiles_of_unit[first_unit + unit];
  }
  const u32 inclusive = inclusive_sum(tiles);
  TileShare share = equal_share(__shfl_sync(0xffffffff, inclusive, 31));
  if (share.begin == share.end) return share;
  const int owner = __ffs(__ballot_sync(0xffffffff, inclusive > share.begin)) - 1;
  share.position = __shfl_sync(0xffffffff, inclusive - tiles, owner);
  int unit = owner * UNITS_OF_LANE;
#pragma unroll 1
  while (share.position + tiles_of_unit[unit] <= share.begin) share.position += tiles_of_unit[unit++];
  share.first_block = unit * unit_blocks;
  return share;
}

// Tiles of one block that are this CTA's.
struct TileRun {
  int first_tile;
  int num_tiles;
};

// Of a block that takes length places from position on.
__device__ __forceinline__ TileRun run_of_share(const TileShare& share, u32 position, u32 length) {
  const u32 from = max(share.begin, position + BLOCK_START_TILES);
  const u32 to = min(share.end, position + length);
  return {static_cast<int>(from - position - BLOCK_START_TILES), from < to ? static_cast<int>(to - from) : 0};
}
