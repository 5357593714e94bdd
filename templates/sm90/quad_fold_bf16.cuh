// The same head sum, by choice, in bf16: two heads an instruction, half the registers for weights.
#pragma once
#include "common/bf16.cuh"
#include "sm90/quad_fold.cuh"

// The weights of all columns of a lane, a pair of columns to a register. staged: of head 2q of the first token.
__device__ __forceinline__ void load_weights(u32 (&weights)[MMA_N / 8], const float* staged) {
#pragma unroll
  for (int i = 0; i < MMA_N / 8; ++i) {
    const float2 pair = *reinterpret_cast<const float2*>(staged + i / (PADDED_HEADS / 8) * WEIGHT_STRIDE + i % (PADDED_HEADS / 8) * 8);
    weights[i] = pack_bf16(pair.x, pair.y);
  }
}

// The lane's part of a token's head sums, of keys r and r+8. dot, weights: of the token's first columns.
__device__ __forceinline__ void fold_token(float (&part)[2], const float* dot, const u32* weights) {
  constexpr int PAIRS = PADDED_HEADS / 8;
  constexpr int RUNS = PAIRS >= 8 ? 2 : 1;  // two: multiply-adds in flight
  static_assert(PAIRS <= RUNS * BF16_RUN, "a run never ends before the token");
  u32 run[2][RUNS] = {};
#pragma unroll
  for (int j = 0; j < PAIRS; ++j) fold_four(run[0][j % RUNS], run[1][j % RUNS], dot + 4 * j, weights[j]);
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const u32 sum = RUNS == 1 ? run[row][0] : add_bf16(run[row][0], run[row][RUNS - 1]);
    part[row] = first_of_bf16(sum) + second_of_bf16(sum);
  }
}
