// The head sum where the four lanes of a quad share a key.
//
// An accumulator of 64 keys x 128 columns is spread over a warpgroup so that lane 4r+q of a warp
// holds, for each j < 16, columns 8j+2q and 8j+2q+1 of keys r and r+8 of its warp (PTX ISA, wgmma
// accumulator fragment; tcgen05.ld 16x256b gives the same map). Column n is head n / T of token
// n % T, T = TOKENS_PER_GROUP, so a lane meets few tokens and folds most heads without a shuffle.
#pragma once
#include "common/store.cuh"

// relu that keeps NaN, as the contract asks.
__device__ __forceinline__ float relu(float x) {
  float positive;
  asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(positive) : "f"(x));
  return positive;
}

// weight[2j + v] is q_scale of the lane's column 8j + 2q + v; zero for padding heads and for
// tokens past the last.
__device__ __forceinline__ void load_quad_weights(float (&weight)[32], int lane, int first_token, const ScoreArguments& args) {
  const int quad_lane = lane % 4;
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const int column = 8 * (i / 2) + 2 * quad_lane + i % 2;
    const int token = first_token + column % TOKENS_PER_GROUP;
    const int head = column / TOKENS_PER_GROUP;
    const bool used = token < args.num_tokens && head < NUM_HEADS;
    weight[i] = used ? args.q_scale[token * args.q_scale_stride + head] : 0.0f;
  }
}

// k_scale of keys r and r+8 of the lane's warp, where they exist.
__device__ __forceinline__ void load_quad_k_scale(float (&k_scale)[2], int lane, int first_key, const ScoreArguments& args) {
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const int key = first_key + lane / 4 + 8 * row;
    k_scale[row] = key < args.num_keys ? args.k_scale[key] : 0.0f;
  }
}

// Folds dot[4j + 2 * row + v] over heads and stores the scores of the lane's keys and tokens.
// first_key: of the lane's warp. first_token, ranges: of the column group.
__device__ __forceinline__ void fold_quad(const float (&dot)[64], const float (&weight)[32], const float (&k_scale)[2],
                                          int lane, int first_key, int first_token, const VisibleRange* ranges,
                                          const ScoreArguments& args) {
  const int quad_lane = lane % 4;
  const int key = first_key + lane / 4;
  constexpr int PHASES = TOKENS_PER_GROUP >= 8 ? TOKENS_PER_GROUP / 8 : 1;  // a lane's columns repeat their token every PHASES steps of j
#pragma unroll
  for (int phase = 0; phase < PHASES; ++phase) {
    float sum[2][2] = {};  // [key row][v]
#pragma unroll
    for (int j = phase; j < 16; j += PHASES) {
#pragma unroll
      for (int v = 0; v < 2; ++v) {
#pragma unroll
        for (int row = 0; row < 2; ++row) {  // inner: two FFMAs in a row share the weight
          sum[row][v] = __fmaf_rn(relu(dot[4 * j + 2 * row + v]), weight[2 * j + v], sum[row][v]);
        }
      }
    }
#if TOKENS_PER_GROUP >= 8
    // The lane holds every head of tokens 8 * phase + 2q + v.
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      int token = 8 * phase + 2 * quad_lane + v;
      asm volatile("" : "+r"(token));  // else the rows' addresses stay in registers across tiles, and spill
      const VisibleRange visible = ranges[token];
      store_score(args, first_token + token, visible, key, sum[0][v] * k_scale[0]);
      store_score(args, first_token + token, visible, key + 8, sum[1][v] * k_scale[1]);
    }
#elif TOKENS_PER_GROUP == 4
    // Lanes q and q^2 hold half of the heads of tokens 2(q & 1) + v: each finishes one key row.
    const int row = quad_lane / 2;
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      const float other_half = __shfl_xor_sync(0xffffffff, row ? sum[0][v] : sum[1][v], 2);
      const int token = 2 * (quad_lane % 2) + v;
      const float total = (row ? sum[1][v] : sum[0][v]) + other_half;
      store_score(args, first_token + token, ranges[token], key + 8 * row, total * (row ? k_scale[1] : k_scale[0]));
    }
#elif TOKENS_PER_GROUP == 2
    // Every lane holds a quarter of the heads of tokens v: each finishes one key row of one token.
    const int row = quad_lane / 2;
    const int token = quad_lane % 2;
    float half[2];
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      half[v] = (row ? sum[1][v] : sum[0][v]) + __shfl_xor_sync(0xffffffff, row ? sum[0][v] : sum[1][v], 2);
    }
    const float total = (token ? half[1] : half[0]) + __shfl_xor_sync(0xffffffff, token ? half[0] : half[1], 1);
    store_score(args, first_token + token, ranges[token], key + 8 * row, total * (row ? k_scale[1] : k_scale[0]));
#else
    // Every lane holds a quarter of the heads of the one token: even lanes finish one key row each.
    const int row = quad_lane / 2;
    const float sum0 = sum[0][0] + sum[0][1];
    const float sum1 = sum[1][0] + sum[1][1];
    const float half = (row ? sum1 : sum0) + __shfl_xor_sync(0xffffffff, row ? sum0 : sum1, 2);
    const float total = half + __shfl_xor_sync(0xffffffff, half, 1);
    if (quad_lane % 2 == 0) {
      store_score(args, first_token, ranges[0], key + 8 * row, total * (row ? k_scale[1] : k_scale[0]));
    }
#endif
  }
}
