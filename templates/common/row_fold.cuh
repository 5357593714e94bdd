// The head sum where one thread owns a key: no shuffles, and a warp stores 32 neighbouring keys.
//
// Column n is head n % PADDED_HEADS of token n / PADDED_HEADS, so a thread finishes one token
// after the other. Two values travel together through the packed f32x2 instructions of sm_100.
#pragma once
#include "common/store.cuh"

__device__ __forceinline__ u64 pack(float low, float high) {
  u64 pair;
  asm("mov.b64 %0, {%1, %2};" : "=l"(pair) : "f"(low), "f"(high));
  return pair;
}

__device__ __forceinline__ float sum_of_pair(u64 pair) {
  float low, high;
  asm("mov.b64 {%0, %1}, %2;" : "=f"(low), "=f"(high) : "l"(pair));
  return low + high;
}

__device__ __forceinline__ u64 add_pairs(u64 a, u64 b) {
  u64 sum;
  asm("add.rn.f32x2 %0, %1, %2;" : "=l"(sum) : "l"(a), "l"(b));
  return sum;
}

__device__ __forceinline__ u64 fma_pairs(u64 a, u64 b, u64 c) {
  u64 sum;
  asm("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(sum) : "l"(a), "l"(b), "l"(c));
  return sum;
}

// 2 * relu of two values: x + |x| is branch-free, exact and keeps NaN.
__device__ __forceinline__ u64 twice_relu(float low, float high) {
  return add_pairs(pack(low, high), pack(fabsf(low), fabsf(high)));
}

// Thread n < 128 stages half of the weight of column n, which undoes the doubling of twice_relu
// exactly. Zero for padding heads and for tokens past the last. A CTA barrier must follow.
__device__ __forceinline__ void stage_half_weights(float* half_weights, int first_token, const ScoreArguments& args) {
  if (threadIdx.x >= 128) return;
  const int token = first_token + threadIdx.x / PADDED_HEADS;
  const int head = threadIdx.x % PADDED_HEADS;
  const bool used = token < args.num_tokens && head < NUM_HEADS;
  half_weights[threadIdx.x] = used ? 0.5f * args.q_scale[token * args.q_scale_stride + head] : 0.0f;
}

// half_weight[i] packs the staged weights of columns 2i and 2i+1.
__device__ __forceinline__ void load_half_weights(u64 (&half_weight)[64], const float* half_weights) {
  const float4* staged = reinterpret_cast<const float4*>(half_weights);
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const float4 four = staged[i];
    half_weight[2 * i] = pack(four.x, four.y);
    half_weight[2 * i + 1] = pack(four.z, four.w);
  }
}

// Folds columns first_column .. first_column + 31 of the thread's key into the two running sums of
// the token at hand, and stores the score of every token that ends among them.
__device__ __forceinline__ void fold_row_columns(const float (&dot)[32], const u64 (&half_weight)[64], u64 (&sum)[2],
                                                 int first_column, float k_scale, int key, int first_token,
                                                 const VisibleRange* ranges, const ScoreArguments& args) {
#pragma unroll
  for (int i = 0; i < 32; i += 4) {
    const int column = first_column + i;
    if (column % PADDED_HEADS == 0) sum[0] = sum[1] = 0;  // two positive zeros each
    sum[0] = fma_pairs(twice_relu(dot[i], dot[i + 1]), half_weight[column / 2], sum[0]);
    sum[1] = fma_pairs(twice_relu(dot[i + 2], dot[i + 3]), half_weight[column / 2 + 1], sum[1]);
    if ((column + 4) % PADDED_HEADS == 0) {
      const int token = column / PADDED_HEADS;
      store_score(args, first_token + token, ranges[token], key, sum_of_pair(add_pairs(sum[0], sum[1])) * k_scale);
    }
  }
}
