// Does ld.shared::cta take an address without the CTA's rank bits?
// out: u32 [CLUSTER]: what each CTA read at its own address with bits 24 and up cleared.
#include "prelude.cuh"

extern "C" __global__ void __cluster_dims__(CLUSTER) __launch_bounds__(32) fact(FACT_ARGUMENTS) {
  extern __shared__ __align__(1024) u8 smem[];
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) *reinterpret_cast<volatile u32*>(smem) = 0xc0de0000 | rank;
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0) {
    u32 value;
    asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(value) : "r"(shared_address(smem) & 0xffffff) : "memory");
    reinterpret_cast<u32*>(out)[rank] = value;
  }
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}
