// One box of a tensor map out of shared memory, whose byte i holds 1 + i % 251. The map lies over `out`.
// settings: rank, x, y, z, offset of the source, bytes of shared memory to fill.
#include "prelude.cuh"

extern "C" __global__ void __launch_bounds__(128) fact(FACT_ARGUMENTS) {
  extern __shared__ __align__(1024) u8 smem[];
  for (int i = threadIdx.x; i < settings.v[5]; i += blockDim.x) smem[i] = 1 + i % 251;
  proxy_fence();
  __syncthreads();
  if (threadIdx.x != 0) return;
  const u32 source = shared_address(smem) + settings.v[4];
  const int x = settings.v[1], y = settings.v[2], z = settings.v[3];
  if (settings.v[0] == 1) {
    asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%2}], [%1];" ::"l"(&map), "r"(source),
                 "r"(x)
                 : "memory");
  } else if (settings.v[0] == 2) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(source),
                 "r"(x), "r"(y)
                 : "memory");
  } else {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
                 "r"(source), "r"(x), "r"(y), "r"(z)
                 : "memory");
  }
  asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::: "memory");
}
