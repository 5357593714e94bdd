// Source of pipeline_sm_90a.ptx and pipeline_sm_100a.ptx: a one-tile pipeline of TMA loads, one
// tensor core product and a generic epilogue. Compiled by NVRTC 13.0 with -arch=ARCH, no headers.
typedef unsigned int u32;
typedef unsigned long long u64;
struct __align__(128) TensorMap { char bytes[128]; };

__device__ __forceinline__ u32 shared_address(const void* p) {
  return static_cast<u32>(__cvta_generic_to_shared(p));
}
__device__ __forceinline__ void wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n.reg .pred P1;\nLAB_WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
      "@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}" ::"r"(barrier), "r"(parity) : "memory");
}
__device__ __forceinline__ void init(u32 barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
__device__ __forceinline__ void load(u32 tile, const TensorMap* map, u32 barrier, int row) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(8192) : "memory");
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
      ::"r"(tile), "l"(map), "r"(barrier), "r"(0), "r"(row) : "memory");
}

#if __CUDA_ARCH__ >= 1000
extern "C" __global__ void __launch_bounds__(192, 1)
    pipeline(const __grid_constant__ TensorMap map, const float* scale, float* out) {
  extern __shared__ __align__(1024) char tiles[];
  __shared__ u64 barriers[2];
  __shared__ u32 tensor_memory;
  const u32 full = shared_address(&barriers[0]), done = shared_address(&barriers[1]);
  const u32 warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    init(full, 1);
    init(done, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (warp == 4) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(shared_address(&tensor_memory)) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  }
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  const u32 accumulator = *static_cast<volatile u32*>(&tensor_memory);
  const u32 tile = shared_address(tiles);
  if (warp == 5 && threadIdx.x % 32 == 0) {
    load(tile, &map, full, blockIdx.x * 64);
  } else if (warp == 4 && threadIdx.x % 32 == 0) {
    wait(full, 0);
    const u64 descriptor = 0x4000404000000000ull | (tile >> 4);
    for (u32 step = 0; step < 4; ++step) {
      asm volatile(
          "{.reg .pred p; setp.ne.b32 p, %4, 0;\n"
          "tcgen05.mma.cta_group::1.kind::f8f6f4 [%0], %1, %2, %3, p; }"
          ::"r"(accumulator), "l"(descriptor + 2 * step), "l"(descriptor + 2 * step), "r"(0x04100010), "r"(step) : "memory");
    }
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(done) : "memory");
  } else if (warp < 4) {
    wait(done, 0);
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    float v[4];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32{%0, %1, %2, %3},[%4];"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]) : "r"(accumulator));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    float2 sum = make_float2(v[0], v[1]);
    const u64 a = *reinterpret_cast<u64*>(&sum), b = *reinterpret_cast<const u64*>(scale);
    u64 c;
    asm("add.rn.f32x2 %0, %1, %2;" : "=l"(c) : "l"(a), "l"(b));
    sum = *reinterpret_cast<float2*>(&c);
    out[blockIdx.x * 128 + threadIdx.x] = fmaxf(sum.x, 0.0f) * scale[1] + sum.y + v[2] * v[3];
  }
  __syncthreads();
  if (warp == 4) {
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(accumulator));
  }
}
#else
extern "C" __global__ void __launch_bounds__(256, 1)
    pipeline(const __grid_constant__ TensorMap map, const float* scale, float* out) {
  extern __shared__ __align__(1024) char tiles[];
  __shared__ u64 barriers[2];
  const u32 full = shared_address(&barriers[0]), empty = shared_address(&barriers[1]);
  if (threadIdx.x == 0) {
    init(full, 1);
    init(empty, 128);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const u32 tile = shared_address(tiles);
  if (threadIdx.x >= 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 128) {
      for (u32 round = 0; round < 2; ++round) {
        wait(empty, (round & 1) ^ 1);
        load(tile, &map, full, (blockIdx.x * 2 + round) * 64);
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  const u64 descriptor = 0x4000004000000000ull | (tile >> 4);
  float d[4] = {};
  for (u32 round = 0; round < 2; ++round) {
    wait(full, round & 1);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0, %1, %2, %3}, %4, %5, p, 1, 1;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(descriptor), "l"(descriptor), "r"(round));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(empty) : "memory");
  }
  const float other = __shfl_xor_sync(0xffffffffu, d[0] + d[1], 1);
  out[blockIdx.x * 128 + threadIdx.x] = other * scale[threadIdx.x] + d[2] * d[3];
}
#endif
