// A tile that TMA wrote with a swizzle, read by wgmma with the same swizzle and base offset 0.
// The map's box has 64 rows of one swizzle span; its bytes are e4m3. B is the identity.
// settings: offset of the tile, bytes of the box, swizzle code, SBO (bytes), start of the K step (bytes).
// out: float [64][32], then u32: phase complete.
#include "prelude.cuh"

extern "C" __global__ void __launch_bounds__(128) fact(FACT_ARGUMENTS) {
  extern __shared__ __align__(1024) u8 smem[];
  u8* const b = smem + 16384;
  const u32 tile = shared_address(smem) + settings.v[0];
  const u32 barrier = shared_address(smem) + 16384 + 1024;
  write_identity(b);
  if (threadIdx.x == 0) mbarrier_init(barrier);
  proxy_fence();
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect(barrier, settings.v[1]);
    tma_load(tile, map, barrier, 2, 0, 0, 0);
  }
  const u32 complete = mbarrier_wait(barrier);
  __syncthreads();
  float d[16] = {};
  wgmma_32(d,
           static_cast<u64>(settings.v[2]) << 62 | static_cast<u64>(settings.v[3] >> 4) << 32 |
               ((tile + settings.v[4]) & 0x3ffff) >> 4,
           identity_descriptor(shared_address(b)));
  for (int v = 0; v < 16; ++v) reinterpret_cast<float*>(out)[32 * row_of(v) + column_of(v)] = d[v];
  if (threadIdx.x == 0) reinterpret_cast<u32*>(out)[2048] = complete;
}
