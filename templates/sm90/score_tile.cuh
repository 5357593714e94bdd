// The scores of a tile of 64 keys by one warpgroup, for the columns that it owns. The kernel includes the fold.
#pragma once
#include "sm90/lane_fold.cuh"
#include "sm90/wgmma.cuh"

// What a lane keeps of its tokens while keys go by: their weights, and what they see; of more than two tokens the
// ranges stay in shared memory.
#if FOLD_BF16
using LaneWeights = u32[LANE_WEIGHTS / 2];
#else
using LaneWeights = float[LANE_WEIGHTS];
#endif
#if LANE_TOKENS <= 2
using LaneRanges = VisibleRange[LANE_TOKENS];
#else
using LaneRanges = const VisibleRange*;
#endif

// ranges: of the lane's first token.
__device__ __forceinline__ void load_lane_ranges(LaneRanges& kept, const VisibleRange* ranges) {
#if LANE_TOKENS <= 2
#pragma unroll
  for (int i = 0; i < LANE_TOKENS; ++i) kept[i] = ranges[i * TOKENS_PER_BOX];
#else
  kept = ranges;
#endif
}

// The lane's rows are `key` and `key + 8`; slot: of its first token's score there. release() is called when the tensor
// core has read the keys.
template <typename Release>
__device__ __forceinline__ void score_tile(ScoreElement* slot, int key, const float (&k_scale)[2], u64 key_descriptor,
                                           u64 q_descriptor, const LaneWeights& weight, const LaneRanges& ranges, int quad_lane,
                                           long long row_stride, Release release) {
#if ACCUMULATORS == 2
#if FOLD_BF16
  RunSums sum;
#else
  float sum[2][2] = {};
#endif
  float dot[2][64];
  wgmma_fence();
  wgmma_start(dot[0], key_descriptor, q_descriptor);
  wgmma_start(dot[1], key_descriptor, q_descriptor + (128 * DEPTH >> 4));
  wgmma_wait<1>(dot[0]);
  fold_heads<32>(sum, dot[0], weight);
  wgmma_wait<0>(dot[1]);
  release();
#if FOLD_BF16
  fold_heads<32>(sum, dot[1], weight + 16);
#else
  fold_heads<32>(sum, dot[1], weight + 32);
#endif
  store_rows(slot, sum, k_scale, key, ranges[0], quad_lane);
#else
  float dot[64];
  wgmma_fence();
  wgmma_start(dot, key_descriptor, q_descriptor);
  wgmma_wait<0>(dot);
  release();
#pragma unroll
  for (int j = 0; j < LANE_TOKENS; ++j) {
#if FOLD_BF16
    RunSums sum;
    fold_heads<TOKEN_WEIGHTS>(sum, dot + 2 * TOKEN_WEIGHTS * j, weight + TOKEN_WEIGHTS / 2 * j);
#else
    float sum[2][2] = {};
    fold_heads<TOKEN_WEIGHTS>(sum, dot + 2 * TOKEN_WEIGHTS * j, weight + TOKEN_WEIGHTS * j);
#endif
#if LANE_TOKENS <= 2
    store_rows(slot, sum, k_scale, key, ranges[j], quad_lane);
#else
    int token = j * TOKENS_PER_BOX;
    asm volatile("" : "+r"(token));  // else ranges and addresses stay in registers across tiles, and spill
    store_rows(slot, sum, k_scale, key, ranges[token], quad_lane);
#endif
    slot += TOKENS_PER_BOX * row_stride;
  }
#endif
}
