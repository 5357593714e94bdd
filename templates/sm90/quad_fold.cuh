// The head sum where the four lanes of a quad share a key: two shuffles a token, or three for two tokens.
//
// An accumulator of 64 keys x MMA_N columns is spread over a warpgroup so that lane 4r+q of a warp
// holds, for each j < MMA_N / 8, columns 8j+2q and 8j+2q+1 of keys r and r+8 of its warp (PTX ISA, wgmma
// accumulator fragment). Column n is head n % PADDED_HEADS of token n / PADDED_HEADS, so a lane holds a
// quarter of the heads of every token. The order of a sum does not depend on the token's column.
#pragma once
#include "common/score_element.cuh"
#include "sm90/fold_four.cuh"

constexpr int WEIGHT_STRIDE = PADDED_HEADS + 8;  // floats between staged tokens: keeps them in different banks

#if !FOLD_BF16
// The weights of all columns of a lane. staged: of head 2q of the first token.
__device__ __forceinline__ void load_weights(float2 (&weights)[MMA_N / 8], const float* staged) {
#pragma unroll
  for (int i = 0; i < MMA_N / 8; ++i) {
    weights[i] = *reinterpret_cast<const float2*>(staged + i / (PADDED_HEADS / 8) * WEIGHT_STRIDE + i % (PADDED_HEADS / 8) * 8);
  }
}

// The lane's part of a token's head sums, of keys r and r+8. dot, weights: of the token's first columns.
__device__ __forceinline__ void fold_token(float (&part)[2], const float* dot, const float2* weights) {
  float sum[2][2] = {};
#pragma unroll
  for (int j = 0; j < PADDED_HEADS / 8; ++j) fold_four(sum, dot + 4 * j, weights[j].x, weights[j].y);
  part[0] = sum[0][0] + sum[0][1];
  part[1] = sum[1][0] + sum[1][1];
}
#endif

// The quad's sum for key r (lanes 0 and 1) or r+8 (lanes 2 and 3), before the last exchange.
__device__ __forceinline__ float half_sum(const float (&part)[2], int row) {
  return (row ? part[1] : part[0]) + __shfl_xor_sync(0xffffffff, row ? part[0] : part[1], 2);
}

// Of one token: complete in all lanes, for key r + 8 * row.
__device__ __forceinline__ float quad_sum(const float (&part)[2], int row) {
  const float half = half_sum(part, row);
  return half + __shfl_xor_sync(0xffffffff, half, 1);
}

// Of two tokens: the lane's is first or second as `odd` says.
__device__ __forceinline__ float quad_sum(const float (&first)[2], const float (&second)[2], int row, bool odd) {
  const float half_first = half_sum(first, row);
  const float half_second = half_sum(second, row);
  return (odd ? half_second : half_first) + __shfl_xor_sync(0xffffffff, odd ? half_first : half_second, 1);
}
