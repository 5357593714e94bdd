// The same head sum, by choice, in bf16: two heads an instruction, half the registers for weights.
#pragma once
#include "common/bf16.cuh"
#include "sm90/lane_fold.cuh"

// weight[i] packs the weights of heads 2i and 2i+1, of those that the lane meets, in the order in which it folds. staged: of
// the lane's first token.
__device__ __forceinline__ void load_lane_weights(u32 (&weight)[LANE_WEIGHTS / 2], const float* staged, int quad_lane) {
#if TOKENS_PER_BOX == 4
#pragma unroll
  for (int i = 0; i < LANE_WEIGHTS; i += 4) {
    const float4 heads = *reinterpret_cast<const float4*>(staged + i / TOKEN_WEIGHTS * 4 * WEIGHT_STRIDE + i % TOKEN_WEIGHTS);
    weight[i / 2] = pack_bf16(heads.x, heads.y);
    weight[i / 2 + 1] = pack_bf16(heads.z, heads.w);
  }
#else
#pragma unroll
  for (int i = 0; i < LANE_WEIGHTS; i += 2) {
    const float2 heads = *reinterpret_cast<const float2*>(staged + 2 * i + 2 * (quad_lane / 2));
    weight[i / 2] = pack_bf16(heads.x, heads.y);
  }
#endif
}

// The head sums of a token at a lane's two keys: of each row, runs of at most BF16_RUN products in bf16, a half for each
// head of a pair, and in f32 what was summed before them. (-0 is what an addition leaves out.)
constexpr int RUNS = LANE_WEIGHTS / LANE_TOKENS >= 16 ? 2 : 1;  // two: multiply-adds in flight
struct RunSums {
  u32 run[2][RUNS] = {};
  float before[2] = {-0.0f, -0.0f};
};

__device__ __forceinline__ float total(const RunSums& sum, int row) {
  const u32 run = RUNS == 1 ? sum.run[row][0] : add_bf16(sum.run[row][0], sum.run[row][RUNS - 1]);
  return sum.before[row] + (first_of_bf16(run) + second_of_bf16(run));
}

// Folds num_weights heads: dot[4 * i + 2 * row + v] belongs to half v of weight[i].
template <int num_weights>
__device__ __forceinline__ void fold_heads(RunSums& sum, const float* dot, const u32* weight) {
#pragma unroll
  for (int i = 0; i < num_weights / 2; ++i) {
    fold_four(sum.run[0][i % RUNS], sum.run[1][i % RUNS], dot + 4 * i, weight[i]);
    if ((i + 1) % (RUNS * BF16_RUN) == 0) sum = {{}, {total(sum, 0), total(sum, 1)}};
  }
}

__device__ __forceinline__ void store_rows(ScoreElement* slot, const RunSums& sum, const float (&k_scale)[2], int key,
                                           VisibleRange visible, int quad_lane) {
  const float sums[2][2] = {{total(sum, 0), -0.0f}, {total(sum, 1), -0.0f}};
  store_rows(slot, sums, k_scale, key, visible, quad_lane);
}
