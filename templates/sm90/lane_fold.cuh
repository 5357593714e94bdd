// The head sum where each lane of a quad owns a token: no shuffles, or one.
//
// An accumulator of 64 keys x 128 columns is spread over a warpgroup so that lane 4r+q of a warp
// holds, for each j < 16, columns 8j+2q and 8j+2q+1 of keys r and r+8 of its warp (PTX ISA, wgmma
// accumulator fragment). Q is laid out so that these columns belong to one token: with four tokens to
// a box, column 8j+2q+v is head 2j+v of token q; with two, it is head 4j+2(q/2)+v of token q%2, and
// lanes q and q^2 share a token.
#pragma once
#include "common/score_element.cuh"
#include "common/visible_range.cuh"
#include "sm90/fold_four.cuh"

constexpr int WEIGHT_STRIDE = PADDED_HEADS + 4;  // floats between staged tokens: keeps them in different banks
constexpr int LANE_WEIGHTS = 32 * ACCUMULATORS;
#if TOKENS_PER_BOX == 4
constexpr int TOKEN_WEIGHTS = LANE_WEIGHTS / LANE_TOKENS;  // heads of a token that a lane folds
#endif

// Stages q_scale of the block's tokens, by one warp: staged[token * WEIGHT_STRIDE + head]; zero for
// padding heads and for tokens past the last.
__device__ __forceinline__ void stage_token_weights(float* staged, int first_token, const ScoreArguments& args) {
  constexpr int LANES_OF_TOKEN = PADDED_HEADS < 32 ? PADDED_HEADS : 32;
  constexpr int TOKENS_OF_WARP = 32 / LANES_OF_TOKEN;
  const int lane = lane_index();
  const int first_head = lane % LANES_OF_TOKEN;
  const int token_of_warp = lane / LANES_OF_TOKEN;
  const float* source = args.q_scale + (first_token + token_of_warp) * args.q_scale_stride + first_head;
  staged += token_of_warp * WEIGHT_STRIDE + first_head;
  int tokens_left = args.num_tokens - first_token - token_of_warp;
#pragma unroll 8  // loads in flight
  for (int token = 0; token < TOKENS_PER_BLOCK; token += TOKENS_OF_WARP) {
#pragma unroll
    for (int head = 0; head < PADDED_HEADS; head += LANES_OF_TOKEN) {
      const bool used = tokens_left > 0 && first_head + head < NUM_HEADS;
      staged[head] = used ? source[head] : 0.0f;
    }
    source += TOKENS_OF_WARP * args.q_scale_stride;
    staged += TOKENS_OF_WARP * WEIGHT_STRIDE;
    tokens_left -= TOKENS_OF_WARP;
  }
}

#if !FOLD_BF16
// The weights that the lane meets, in the order in which it folds. staged: of the lane's first token.
__device__ __forceinline__ void load_lane_weights(float (&weight)[LANE_WEIGHTS], const float* staged, int quad_lane) {
#if TOKENS_PER_BOX == 4
#pragma unroll
  for (int i = 0; i < LANE_WEIGHTS; i += 4) {
    const float4 heads = *reinterpret_cast<const float4*>(staged + i / TOKEN_WEIGHTS * 4 * WEIGHT_STRIDE + i % TOKEN_WEIGHTS);
    weight[i] = heads.x;
    weight[i + 1] = heads.y;
    weight[i + 2] = heads.z;
    weight[i + 3] = heads.w;
  }
#else
#pragma unroll
  for (int i = 0; i < LANE_WEIGHTS; i += 2) {
    const float2 heads = *reinterpret_cast<const float2*>(staged + 2 * i + 2 * (quad_lane / 2));
    weight[i] = heads.x;
    weight[i + 1] = heads.y;
  }
#endif
}

// Folds num_weights heads: dot[2 * i + 2 * row + v] belongs to weight[i + v], i even.
template <int num_weights>
__device__ __forceinline__ void fold_heads(float (&sum)[2][2], const float* dot, const float* weight) {
#pragma unroll
  for (int i = 0; i < num_weights; i += 2) fold_four(sum, dot + 2 * i, weight[i], weight[i + 1]);
}
#endif

// Stores the scores of a lane's token at `key` and `key + 8`, if it sees them. slot: of `key`.
__device__ __forceinline__ void store_rows(ScoreElement* slot, const float (&sum)[2][2], const float (&k_scale)[2], int key,
                                           VisibleRange visible, int quad_lane) {
  const u32 num_visible = visible.end - visible.begin;
#if TOKENS_PER_BOX == 4
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    if (static_cast<u32>(key + 8 * row - visible.begin) < num_visible) {
      slot[8 * row] = to_score((sum[row][0] + sum[row][1]) * k_scale[row]);
    }
  }
#else
  // Lanes q and q^2 hold half of the heads each: each finishes one key row.
  const int row = quad_lane / 2;
  const float first = sum[0][0] + sum[0][1];
  const float second = sum[1][0] + sum[1][1];
  const float total = (row ? second : first) + __shfl_xor_sync(0xffffffff, row ? first : second, 2);
  if (static_cast<u32>(key + 8 * row - visible.begin) < num_visible) {
    slot[8 * row] = to_score(total * (row ? k_scale[1] : k_scale[0]));
  }
#endif
}
