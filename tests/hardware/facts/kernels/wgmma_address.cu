// Which byte of shared memory does wgmma take for row r, byte k of A?
// A's memory, 16384 bytes, holds in turn the four hexadecimal digits of each byte's own offset; B is the identity.
// settings: start of A, LBO and SBO (bytes), swizzle code, base offset.
// out: u32 [64][32]: the offset of the byte that was read.
#include "prelude.cuh"

extern "C" __global__ void __launch_bounds__(128) fact(FACT_ARGUMENTS) {
  extern __shared__ __align__(1024) u8 smem[];
  u8* const b = smem + 16384;
  const u64 descriptor = static_cast<u64>(settings.v[3]) << 62 | static_cast<u64>(settings.v[4]) << 49 |
                         static_cast<u64>(settings.v[2] >> 4) << 32 | static_cast<u64>(settings.v[1] >> 4) << 16 |
                         ((shared_address(smem) + settings.v[0]) & 0x3ffff) >> 4;
  u32 offset[16] = {};
  write_identity(b);
#pragma unroll 1
  for (u32 digit = 0; digit < 4; ++digit) {
    for (u32 i = threadIdx.x; i < 16384; i += blockDim.x) smem[i] = e4m3_of(i >> 4 * digit & 15);
    proxy_fence();
    __syncthreads();
    float d[16] = {};
    wgmma_32(d, descriptor, identity_descriptor(shared_address(b)));
    for (int v = 0; v < 16; ++v) offset[v] |= static_cast<u32>(d[v]) << 4 * digit;
    __syncthreads();
  }
  for (int v = 0; v < 16; ++v) reinterpret_cast<u32*>(out)[32 * row_of(v) + column_of(v)] = offset[v];
}
