// q_scale of a block's tokens on its way to shared memory, in registers of one warp.
#pragma once
#include "common/arguments.cuh"

// What stage_token_weights() writes: zero for padding heads and for tokens past the last.
struct TokenWeights {
  static constexpr int LANES_OF_TOKEN = PADDED_HEADS < 32 ? PADDED_HEADS : 32;
  static constexpr int TOKENS_OF_WARP = 32 / LANES_OF_TOKEN;
  static constexpr int HEADS_OF_LANE = PADDED_HEADS / LANES_OF_TOKEN;  // of a token
  static constexpr int TOKENS_OF_LANE = TOKENS_PER_BLOCK / TOKENS_OF_WARP;
  float value[TOKENS_OF_LANE][HEADS_OF_LANE];

  __device__ __forceinline__ void load(int first_token, const ScoreArguments& args) {
    int token = first_token + lane_index() / LANES_OF_TOKEN;
    const int first_head = lane_index() % LANES_OF_TOKEN;
    const float* source = args.q_scale + token * args.q_scale_stride + first_head;
#pragma unroll
    for (int i = 0; i < TOKENS_OF_LANE; ++i) {
#pragma unroll
      for (int j = 0; j < HEADS_OF_LANE; ++j) {
        const int head = j * LANES_OF_TOKEN;
        value[i][j] = token < args.num_tokens && first_head + head < NUM_HEADS ? source[head] : 0.0f;
      }
      source += TOKENS_OF_WARP * args.q_scale_stride;
      token += TOKENS_OF_WARP;
    }
  }

  __device__ __forceinline__ void store(float* staged) const {
    staged += lane_index() / LANES_OF_TOKEN * WEIGHT_STRIDE + lane_index() % LANES_OF_TOKEN;
#pragma unroll
    for (int i = 0; i < TOKENS_OF_LANE; ++i) {
#pragma unroll
      for (int j = 0; j < HEADS_OF_LANE; ++j) staged[i * TOKENS_OF_WARP * WEIGHT_STRIDE + j * LANES_OF_TOKEN] = value[i][j];
    }
  }
};
