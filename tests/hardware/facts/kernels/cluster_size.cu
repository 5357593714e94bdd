// Do clusters of CLUSTER CTAs run?
// out: u32 [CLUSTER]: number of CTAs of its cluster, as each sees it, at its rank.
#include "prelude.cuh"

extern "C" __global__ void __cluster_dims__(CLUSTER) __launch_bounds__(32) fact(FACT_ARGUMENTS) {
  u32 rank, size;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  if (threadIdx.x == 0) reinterpret_cast<u32*>(out)[rank] = size;
}
