// The tensor copies that only the persistent kernel needs.
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
