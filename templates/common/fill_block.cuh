// -inf into the hidden slots of a CTA's own block of tokens.
#pragma once
#include "common/block_ranges.cuh"
#include "common/fill_slots.cuh"

// Warp `warp` of `num_warps` fills its share of the block's rows, over this CTA's share of columns.
__device__ __forceinline__ void fill_hidden_slots(const VisibleRange* ranges, int first_token, int warp, int num_warps,
                                                  const ScoreArguments& args) {
  const u32 share = (args.num_columns + gridDim.y - 1) / gridDim.y;
  const int begin = min(share * blockIdx.y, static_cast<u32>(args.num_columns));
  const int end = min(begin + share, static_cast<u32>(args.num_columns));
  const int num_rows = min(TOKENS_PER_BLOCK, args.num_tokens - first_token);
#pragma unroll 1
  for (int i = warp; i < num_rows; i += num_warps) {
    ScoreElement* row = args.scores + (first_token + i) * args.row_stride;
    const VisibleRange visible = ranges[i];
    fill_slots(row, begin, min(end, visible.begin));
    fill_slots(row, max(begin, visible.end), end);
  }
}
