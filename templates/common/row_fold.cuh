// The head sum where one thread owns a key: no shuffles, and a warp stores 32 neighbouring keys.
//
// Column n is head n % PADDED_HEADS of token n / PADDED_HEADS, so a thread finishes one token
// after the other. Two values travel together through the packed f32x2 instructions of sm_100.
#pragma once
#include "common/store.cuh"

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

// sum += 2 * relu(dot) * half_weight for four columns, two at a time: x + |x| is branch-free, exact
// and keeps NaN. One statement, because the compiler's time grows with their number.
__device__ __forceinline__ void fold_four(u64 (&sum)[2], const float* dot, u64 half_weight_01, u64 half_weight_23) {
  asm("{\n"
      "  .reg .f32 low, high;\n"
      "  .reg .b64 dots, magnitudes;\n"
      "  abs.f32 low, %2;\n"
      "  abs.f32 high, %3;\n"
      "  mov.b64 dots, {%2, %3};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %0, dots, %6, %0;\n"
      "  abs.f32 low, %4;\n"
      "  abs.f32 high, %5;\n"
      "  mov.b64 dots, {%4, %5};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %1, dots, %7, %1;\n"
      "}\n"
      : "+l"(sum[0]), "+l"(sum[1])
      : "f"(dot[0]), "f"(dot[1]), "f"(dot[2]), "f"(dot[3]), "l"(half_weight_01), "l"(half_weight_23));
}

// Thread n < 128 stages half of the weight of column n, which undoes the doubling of fold_four
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
  const ulonglong2* staged = reinterpret_cast<const ulonglong2*>(half_weights);
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const ulonglong2 pairs = staged[i];
    half_weight[2 * i] = pairs.x;
    half_weight[2 * i + 1] = pairs.y;
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
    fold_four(sum, dot + i, half_weight[column / 2], half_weight[column / 2 + 1]);
    if ((column + 4) % PADDED_HEADS == 0) {
      const int token = column / PADDED_HEADS;
      store_score(args, first_token + token, ranges[token], key, sum_of_pair(add_pairs(sum[0], sum[1])) * k_scale);
    }
  }
}
