// What do addresses of shared memory look like in a cluster?
// out: u32 [CLUSTER][32] a CTA: 0 own address, 1 own rank, 2.. mapa of that address to each rank, 10.. mapa
// of the address 64 bytes further, 18.. what lies at (rank << 24 | offset) for each rank, 26 the generic
// address of rank r minus that of rank 0, for r = own rank.
#include "prelude.cuh"

__device__ __forceinline__ u32 mapped(u32 address, u32 rank) {
  u32 result;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
  return result;
}

__device__ __forceinline__ u64 mapped_generic(const void* pointer, u32 rank) {
  u64 result;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(result) : "l"(pointer), "r"(rank));
  return result;
}

__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

extern "C" __global__ void __cluster_dims__(CLUSTER) __launch_bounds__(32) fact(FACT_ARGUMENTS) {
  extern __shared__ __align__(1024) u8 smem[];
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  u32* const result = reinterpret_cast<u32*>(out) + 32 * rank;
  const u32 own = shared_address(smem);
  if (threadIdx.x == 0) {
    *reinterpret_cast<volatile u32*>(smem) = 0xc0de0000 | rank;
    result[0] = own;
    result[1] = rank;
    for (u32 r = 0; r < CLUSTER; ++r) {
      result[2 + r] = mapped(own, r);
      result[10 + r] = mapped(own + 64, r);
    }
    result[26] = static_cast<u32>(mapped_generic(smem, rank) - mapped_generic(smem, 0));
  }
  cluster_barrier();
  if (threadIdx.x == 0) {
    for (u32 r = 0; r < CLUSTER; ++r) {
      u32 value;
      asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(r << 24 | (own & 0xffffff)) : "memory");
      result[18 + r] = value;
    }
  }
  cluster_barrier();
}
