// Blocks of TOKENS_PER_BLOCK tokens: what their tokens see.
#pragma once
#include "common/visible_range.cuh"

__device__ __forceinline__ u32 count_blocks(const ScoreArguments& args) {
  return (args.num_tokens - 1u) / TOKENS_PER_BLOCK + 1;
}

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

__device__ __forceinline__ BlockKeys block_keys(u32 block, const ScoreArguments& args, const Request* = nullptr) {
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

// Of each request, the last of its tokens in the block sees the most. first_request: the batch's, where it is at hand.
__device__ __forceinline__ BlockKeys block_keys(u32 block, const ScoreArguments& args, const Request* first_request = nullptr) {
  BlockKeys keys = {0x7fffffff, 0};
  const int first_token = block * TOKENS_PER_BLOCK;
  if (static_cast<u32>(first_token) >= args.num_tokens) return keys;
#if MASK_RAGGED
  const int end_token = min(first_token + TOKENS_PER_BLOCK, args.num_tokens);
  int next_token = first_token;
  int index = request_of(first_token, args);
#pragma unroll 1
  do {
    const Request request = first_request && index == 0 ? *first_request : read_request(index, args);
    const int end = min(request.end_query, end_token);
    VisibleRange range = visible_range(max(end, 1) - 1, request, args);
    // No branch, behind which the compiler would put loads that then wait for those in front of it.
    if (end <= next_token) range.end = range.begin;
    next_token = max(next_token, end);
    add_range(keys, range);
  } while (next_token < end_token && ++index < args.num_requests);
#else
  add_range(keys, visible_range(first_token, args));
#endif
  return keys;
}
#endif

constexpr u32 WARP_BLOCKS = 32 / LANES_OF_BLOCK;  // blocks a warp looks at together

// Stages what each token of a block sees, by one warp; nothing past the last token.
__device__ __forceinline__ void stage_ranges(VisibleRange* staged, int first_token, const ScoreArguments& args) {
#pragma unroll 1
  for (int token = lane_index(); token < TOKENS_PER_BLOCK; token += 32) {
    const bool exists = first_token + token < args.num_tokens;
    staged[token] = exists ? visible_range(first_token + token, args) : VisibleRange{0, 0};
  }
}

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
