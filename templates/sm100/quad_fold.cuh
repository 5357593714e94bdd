// The head sum where the four lanes of a quad share a key.
//
// An accumulator of 64 keys x 128 columns is spread over a warpgroup so that lane 4r+q of a warp
// holds, for each j < 16, columns 8j+2q and 8j+2q+1 of keys r and r+8 of its warp (PTX ISA, wgmma
// accumulator fragment; tcgen05.ld 16x256b gives the same map). Column n is head n / T of token
// n % T, T = TOKENS_PER_GROUP, so a lane meets few tokens and folds most heads without a shuffle.
#pragma once
#include "common/store.cuh"

// sum[row][v] += relu(dot[2 * row + v]) * weight[v], with a relu that keeps NaN, as the contract asks.
// One statement, because the compiler's time grows with their number; the rows of a column follow
// each other, so that two multiply-adds in a row share the weight.
__device__ __forceinline__ void fold_four(float (&sum)[2][2], const float* dot, const float* weight) {
  asm("{\n"
      "  .reg .f32 positive;\n"
      "  max.NaN.f32 positive, %4, 0f00000000;\n"
      "  fma.rn.f32 %0, positive, %8, %0;\n"
      "  max.NaN.f32 positive, %6, 0f00000000;\n"
      "  fma.rn.f32 %2, positive, %8, %2;\n"
      "  max.NaN.f32 positive, %5, 0f00000000;\n"
      "  fma.rn.f32 %1, positive, %9, %1;\n"
      "  max.NaN.f32 positive, %7, 0f00000000;\n"
      "  fma.rn.f32 %3, positive, %9, %3;\n"
      "}\n"
      : "+f"(sum[0][0]), "+f"(sum[0][1]), "+f"(sum[1][0]), "+f"(sum[1][1])
      : "f"(dot[0]), "f"(dot[1]), "f"(dot[2]), "f"(dot[3]), "f"(weight[0]), "f"(weight[1]));
}

// Thread n < 128 * COLUMN_GROUPS stages the weight of column n of the block: q_scale, or zero for
// padding heads and for tokens past the last. A CTA barrier must follow.
__device__ __forceinline__ void stage_weights(float* staged, int first_token, const ScoreArguments& args) {
  if (threadIdx.x >= 128 * COLUMN_GROUPS) return;
  const int column = threadIdx.x % 128;
  const int token = first_token + threadIdx.x / 128 * TOKENS_PER_GROUP + column % TOKENS_PER_GROUP;
  const int head = column / TOKENS_PER_GROUP;
  const bool used = token < args.num_tokens && head < NUM_HEADS;
  staged[threadIdx.x] = used ? args.q_scale[token * args.q_scale_stride + head] : 0.0f;
}

// weight[2j + v] is the weight of the lane's column 8j + 2q + v. staged: of the column group.
__device__ __forceinline__ void load_quad_weights(float (&weight)[32], const float* staged, int lane) {
  const float2* pairs = reinterpret_cast<const float2*>(staged) + lane % 4;
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    const float2 pair = pairs[4 * j];
    weight[2 * j] = pair.x;
    weight[2 * j + 1] = pair.y;
  }
}

// k_scale of keys r and r+8 of the lane's warp; of the last key where they do not exist.
__device__ __forceinline__ void load_quad_k_scale(float (&k_scale)[2], int lane, int first_key, const ScoreArguments& args) {
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    k_scale[row] = args.k_scale[min(first_key + lane / 4 + 8 * row, args.num_keys - 1)];
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
      fold_four(sum, dot + 4 * j, weight + 2 * j);
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
