// One box of a tensor map to shared memory that held 0xee.
// settings: rank, x, y, z, offset of the destination, bytes expected, bytes of shared memory to dump (at most
// 16384), and whether 16 bytes more than that are expected, which a second, linear copy then brings.
// out: u32: base of the dump, phase complete before the second copy, phase complete at the end, 0; the dump.
#include "prelude.cuh"

extern "C" __global__ void __launch_bounds__(128) fact(FACT_ARGUMENTS) {
  extern __shared__ __align__(1024) u8 smem[];  // 16384 of dump, 16 of landing pad, the barrier
  const u32 dump_bytes = settings.v[6];
  const u32 base = shared_address(smem);
  const u32 barrier = base + 16384 + 64;
  for (u32 i = threadIdx.x; i < dump_bytes / 4; i += blockDim.x) reinterpret_cast<u32*>(smem)[i] = 0xeeeeeeee;
  if (threadIdx.x == 0) mbarrier_init(barrier);
  proxy_fence();
  __syncthreads();
  if (threadIdx.x == 0) {
    u32* const result = reinterpret_cast<u32*>(out);
    const bool surplus = settings.v[7] != 0;
    mbarrier_arrive_expect(barrier, settings.v[5] + (surplus ? 16 : 0));
    tma_load(base + settings.v[4], map, barrier, settings.v[0], settings.v[1], settings.v[2], settings.v[3]);
    result[0] = base;
    result[1] = 0;
    if (surplus) {
      result[1] = mbarrier_poll(barrier);
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];" ::"r"(
                       base + 16384),
                   "l"(in), "r"(barrier)
                   : "memory");
    }
    result[2] = mbarrier_wait(barrier);
    result[3] = 0;
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < dump_bytes / 4; i += blockDim.x) {
    reinterpret_cast<u32*>(out + 16)[i] = reinterpret_cast<u32*>(smem)[i];
  }
}
