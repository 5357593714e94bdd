// The bits of an mbarrier after each step of its life. Hardware only: they are not specified.
// out: u64 [8]: init 1; init 5; arrive; expect_tx 256; complete_tx 256; arrives until the phase ends;
// init 0xFFFFF; init 3 after arrive_drop.
#include "prelude.cuh"

// A barrier's operations and ordinary loads are ordered by a fence only.
__device__ __forceinline__ u64 bits_of(const u8* barrier) {
  __threadfence_block();
  return *reinterpret_cast<const volatile u64*>(barrier);
}

__device__ __forceinline__ void init(u32 barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ __forceinline__ void arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

extern "C" __global__ void __launch_bounds__(32) fact(FACT_ARGUMENTS) {
  extern __shared__ __align__(1024) u8 smem[];
  if (threadIdx.x != 0) return;
  u64* const result = reinterpret_cast<u64*>(out);
  const u32 barrier = shared_address(smem);
  *reinterpret_cast<volatile u64*>(smem) = 0xeeeeeeeeeeeeeeee;
  init(barrier, 1);
  result[0] = bits_of(smem);
  init(barrier, 5);
  result[1] = bits_of(smem);
  arrive(barrier);
  result[2] = bits_of(smem);
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 256;" ::"r"(barrier) : "memory");
  result[3] = bits_of(smem);
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 256;" ::"r"(barrier) : "memory");
  result[4] = bits_of(smem);
  for (int i = 0; i < 4; ++i) arrive(barrier);
  result[5] = bits_of(smem);
  init(barrier, 0xfffff);
  result[6] = bits_of(smem);
  init(barrier, 3);
  asm volatile("{ .reg .b64 state; mbarrier.arrive_drop.shared::cta.b64 state, [%0]; }" ::"r"(barrier) : "memory");
  result[7] = bits_of(smem);
}
