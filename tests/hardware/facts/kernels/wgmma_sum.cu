// D = A * B^T + C as wgmma rounds it.
// in: A e4m3 [64][128], B e4m3 [8][128], C f32 [64][8]. settings: instructions (1 to 4, 32 of K each).
// out: f32 [64][8].
#include "prelude.cuh"

// Rows of 128 bytes with the 128-byte swizzle.
__device__ __forceinline__ void write_tile(u8* tile, const u8* from, u32 rows) {
  for (u32 i = threadIdx.x; i < rows * 128; i += blockDim.x) tile[i ^ ((i >> 3) & 0x70)] = from[i];
}

__device__ __forceinline__ u64 tile_descriptor(const u8* tile) {
  return 1ull << 62 | static_cast<u64>(1024 >> 4) << 32 | (shared_address(tile) & 0x3ffff) >> 4;
}

extern "C" __global__ void __launch_bounds__(128) fact(FACT_ARGUMENTS) {
  extern __shared__ __align__(1024) u8 smem[];
  write_tile(smem, in, 64);
  write_tile(smem + 8192, in + 8192, 8);
  proxy_fence();
  __syncthreads();
  const float* const c = reinterpret_cast<const float*>(in + 8192 + 1024);
  float d[4];
  for (int v = 0; v < 4; ++v) d[v] = c[8 * row_of(v) + column_of(v)];
  u64 a = tile_descriptor(smem), b = tile_descriptor(smem + 8192);
#pragma unroll 1
  for (int step = 0; step < settings.v[0]; ++step, a += 2, b += 2) {
    asm volatile(
        "{\n"
        "  .reg .pred accumulate;\n"
        "  setp.eq.b32 accumulate, 0, 0;\n"
        "  wgmma.fence.sync.aligned;\n"
        "  wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0, %1, %2, %3}, %4, %5, accumulate, 1, 1;\n"
        "  wgmma.commit_group.sync.aligned;\n"
        "  wgmma.wait_group.sync.aligned 0;\n"
        "}\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "l"(a), "l"(b)
        : "memory");
  }
  for (int v = 0; v < 4; ++v) reinterpret_cast<float*>(out)[8 * row_of(v) + column_of(v)] = d[v];
}
