// Short names for the machine's words. No header is included anywhere: NVRTC sees this text only.
#pragma once

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

// The driver's 128-byte tensor map, passed by value as a kernel parameter.
struct alignas(64) TensorMap {
  u64 opaque[16];
};

// A pointer into shared memory as the 32-bit address that mbarrier, TMA and MMA operands take.
__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

// The thread's place in its warp, read where it is needed: threadIdx.x, kept for a use far away,
// costs the math warps a register.
__device__ __forceinline__ int lane_index() {
  int lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// The same of its place in the CTA.
__device__ __forceinline__ u32 thread_index() {
  u32 thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

// True in exactly one lane of a converged warp.
__device__ __forceinline__ bool elect_one() {
  u32 elected;
  asm volatile(
      "{\n"
      "  .reg .pred p;\n"
      "  elect.sync _|p, 0xffffffff;\n"
      "  selp.u32 %0, 1, 0, p;\n"
      "}\n"
      : "=r"(elected));
  return elected != 0;
}
