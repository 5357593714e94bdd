// The tensor copies of the kernels of contiguous keys.
#pragma once
#include "common/tma.cuh"

#if HEADS_ARE_EVEN
__device__ __forceinline__ void tma_load_4d(u32 destination, const TensorMap& map, u32 barrier, int x, int y, int z, int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(destination),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}

#endif
// Q of the tokens that a warpgroup folds, in boxes that put the columns of a lane in their places (lane_fold.cuh).
__device__ __forceinline__ void load_queries(u32 q_tile, const TensorMap& q_map, u32 barrier, int token) {
#pragma unroll 1
  for (int box = 0; box < TOKENS_PER_WARPGROUP; box += TOKENS_PER_BOX) {
#if HEADS_ARE_EVEN
    tma_load_4d(q_tile, q_map, barrier, 0, 0, token, 0);
    q_tile += PADDED_HEADS * TOKENS_PER_BOX * DEPTH;
#else
#pragma unroll 1
    for (int head = 0; head < PADDED_HEADS; head += 2) {
      tma_load_3d(q_tile, q_map, barrier, 0, head, token);
      q_tile += 2 * TOKENS_PER_BOX * DEPTH;
    }
#endif
    token += TOKENS_PER_BOX;
  }
}

// A cache policy: what is copied with it leaves L2 last.
__device__ __forceinline__ u64 keep_in_l2() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ __forceinline__ void tma_load_2d_hinted(u32 destination, const TensorMap& map, u32 barrier, int x, int y,
                                                   u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "l"(policy)
      : "memory");
}
