// The visible ranges of a CTA's own block of tokens, and the key tiles that they need.
#pragma once
#include "common/visible_range.cuh"

// Thread t of the CTA finds the range of token first_token + t; tokens past the last are empty.
// A CTA barrier must follow.
__device__ __forceinline__ void find_visible_ranges(VisibleRange* ranges, int first_token, const ScoreArguments& args) {
  const int token = first_token + threadIdx.x;
  if (threadIdx.x < TOKENS_PER_BLOCK) {
    ranges[threadIdx.x] = token < args.num_tokens ? visible_range(token, args) : VisibleRange{0, 0};
  }
}

// The smallest range that covers count ranges, found by a whole warp. Empty: begin > end.
__device__ __forceinline__ VisibleRange covering_range(const VisibleRange* ranges, int count) {
  int begin = 0x7fffffff;
  int end = 0;
#pragma unroll 1
  for (int i = lane_index(); i < count; i += 32) {
    const VisibleRange range = ranges[i];
    if (range.begin < range.end) {
      begin = min(begin, range.begin);
      end = max(end, range.end);
    }
  }
  return {__reduce_min_sync(0xffffffff, begin), __reduce_max_sync(0xffffffff, end)};
}

// The key tiles of this CTA: its share, by blockIdx.y, of the tiles that its tokens see.
struct KeyTiles {
  int first;
  int count;
};

__device__ __forceinline__ KeyTiles key_tiles_of_block(VisibleRange range) {
  if (range.begin >= range.end) return {0, 0};
  const int first = range.begin / TILE_KEYS;
  const int last = (range.end - 1) / TILE_KEYS + 1;
  const int share = (last - first + gridDim.y - 1) / gridDim.y;
  const long long mine = first + static_cast<long long>(share) * blockIdx.y;
  if (mine >= last) return {0, 0};
  return {static_cast<int>(mine), min(share, last - static_cast<int>(mine))};
}
