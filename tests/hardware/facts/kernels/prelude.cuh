// What the small kernels share. Put in the place of their include; NVRTC sees one text.
#pragma once

using u8 = unsigned char;
using u32 = unsigned int;
using u64 = unsigned long long;

struct alignas(64) TensorMap {
  u64 opaque[16];
};

// Mirrored by Experiment::settings.
struct Settings {
  int v[12];
};

// Every kernel has this one signature.
#define FACT_ARGUMENTS \
  const __grid_constant__ TensorMap map, const u8 *__restrict__ in, u8 *__restrict__ out, const Settings settings

__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void proxy_fence() { asm volatile("fence.proxy.async;" ::: "memory"); }

// One arrival a phase.
__device__ __forceinline__ void mbarrier_init(u32 barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_arrive_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Whether phase 0 completed within a bounded number of tries: nothing here may hang a GPU.
__device__ __forceinline__ u32 mbarrier_wait(u32 barrier) {
  u32 done = 0;
#pragma unroll 1
  for (int tries = 0; tries < 2000 && done == 0; ++tries) {
    asm volatile(
        "{\n"
        "  .reg .pred p;\n"
        "  mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0, 1000;\n"  // a try: 1000 ns at most
        "  selp.u32 %0, 1, 0, p;\n"
        "}\n"
        : "=r"(done)
        : "r"(barrier)
        : "memory");
  }
  return done;
}

// The same without suspending the thread, where the answer should be no.
__device__ __forceinline__ u32 mbarrier_poll(u32 barrier) {
  u32 done = 0;
#pragma unroll 1
  for (int tries = 0; tries < 5000 && done == 0; ++tries) {
    asm volatile(
        "{\n"
        "  .reg .pred p;\n"
        "  mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;\n"
        "  selp.u32 %0, 1, 0, p;\n"
        "}\n"
        : "=r"(done)
        : "r"(barrier)
        : "memory");
  }
  return done;
}

__device__ __forceinline__ void tma_load(u32 destination, const TensorMap& map, u32 barrier, int rank, int x, int y,
                                         int z) {
  if (rank == 1) {
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(
            destination),
        "l"(&map), "r"(barrier), "r"(x)
        : "memory");
  } else if (rank == 2) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
            destination),
        "l"(&map), "r"(barrier), "r"(x), "r"(y)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
            "r"(destination),
        "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z)
        : "memory");
  }
}

// e4m3 code of an integer 0..15, exactly.
__device__ __forceinline__ u32 e4m3_of(u32 value) {
  if (value == 0) return 0;
  const u32 exponent = 31 - __clz(value);
  return (exponent + 7) << 3 | ((value << 3 >> exponent) & 7);
}

// Identity of 32 x 32 as B of a wgmma, so that D is A: rows of 32 bytes, 32-byte swizzle, at a
// multiple of 256. Written by 128 threads.
__device__ __forceinline__ void write_identity(u8* b) {
  for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) {
    b[i ^ ((i >> 3) & 0x10)] = i / 32 == i % 32 ? 0x38 : 0;  // 1.0
  }
}

__device__ __forceinline__ u64 identity_descriptor(u32 address) {
  return 3ull << 62 | static_cast<u64>(256 >> 4) << 32 | (address & 0x3ffff) >> 4;
}

// d (64 x 32) = a (64 x 32) * b (32 x 32)^T, complete on return.
__device__ __forceinline__ void wgmma_32(float (&d)[16], u64 a, u64 b) {
  asm volatile(
      "{\n"
      "  .reg .pred accumulate;\n"
      "  setp.ne.b32 accumulate, 0, 0;\n"
      "  wgmma.fence.sync.aligned;\n"
      "  wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3\n"
      "  {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, accumulate, 1, 1;\n"
      "  wgmma.commit_group.sync.aligned;\n"
      "  wgmma.wait_group.sync.aligned 0;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
      : "l"(a), "l"(b)
      : "memory");
}

// Where register v of this thread lies in D.
__device__ __forceinline__ u32 row_of(u32 v) {
  return 16 * (threadIdx.x / 32) + threadIdx.x % 32 / 4 + 8 * (v >> 1 & 1);
}
__device__ __forceinline__ u32 column_of(u32 v) { return 8 * (v >> 2) + 2 * (threadIdx.x & 3) + (v & 1); }
