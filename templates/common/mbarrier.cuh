// Barriers in shared memory that count arrivals and bytes. A waiter names the parity of the phase
// it waits for; the first phase has parity 0, so a wait for parity 1 on a fresh barrier passes.
#pragma once
#include "common/types.cuh"

__device__ __forceinline__ void mbarrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes the initialised barriers visible to the asynchronous proxy; a CTA barrier must follow.
__device__ __forceinline__ void mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// __syncthreads() that warps may come to at different places of the code.
__device__ __forceinline__ void cta_barrier() { asm volatile("bar.sync 0;" ::: "memory"); }

__device__ __forceinline__ void mbarrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// As many arrivals.
__device__ __forceinline__ void mbarrier_arrive_times(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// One arrival, after raising the bytes that the phase waits for.
__device__ __forceinline__ void mbarrier_arrive_expect_bytes(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void mbarrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n"
      "  .reg .pred done;\n"
      "WAIT:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "  @!done bra WAIT;\n"
      "}\n" ::"r"(barrier), "r"(parity)
      : "memory");
}

// A position in a ring of stages, each guarded by one barrier.
struct RingCursor {
  u32 stage = 0;
  u32 parity = 0;

  __device__ __forceinline__ void advance(u32 num_stages) {
    if (++stage == num_stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};
