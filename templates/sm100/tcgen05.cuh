// Tensor memory and the tensor core of sm_100a: e4m3 x e4m3 -> f32 in tensor memory, both operands
// in shared memory, K-major. Sources: PTX ISA, "TensorCore 5th Generation family instructions".
#pragma once
#include "common/types.cuh"

// An accumulator address: lane in the upper half, 32-bit column in the lower half.
// Allocation and release are whole-warp instructions of one warp.
__device__ __forceinline__ void tensor_memory_allocate(u32 result, u32 num_columns) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(result), "r"(num_columns)
               : "memory");
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
}

__device__ __forceinline__ void tensor_memory_release(u32 address, u32 num_columns) {
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(num_columns));
}

// The part of an operand descriptor that does not depend on the address: rows of DEPTH bytes,
// swizzled over their whole width, groups of eight rows one after the other; bit 46 is constant.
constexpr u64 MMA_SWIZZLE = DEPTH == 128 ? 2 : DEPTH == 64 ? 4 : 6;
constexpr u64 MMA_DESCRIPTOR = MMA_SWIZZLE << 61 | 1ull << 46 | static_cast<u64>(8 * DEPTH >> 4) << 32;

__device__ __forceinline__ u64 mma_descriptor(u32 address) { return MMA_DESCRIPTOR | (address & 0x3ffff) >> 4; }

// Instruction descriptor: f32 accumulator (bit 4), e4m3 operands (0), N / 8 from bit 17, M / 16
// from bit 24.
__device__ __forceinline__ constexpr u32 mma_instruction(u32 num_columns) {
  return 1u << 4 | num_columns / 8 << 17 | static_cast<u32>(MMA_M / 16) << 24;
}

// accumulator (MMA_M x N) = a (MMA_M x 32) * b (N x 32)^T, plus the accumulator unless this is the first
// step of the depth. One thread issues.
__device__ __forceinline__ void mma_step(u32 accumulator, u64 a, u64 b, u32 instruction, bool accumulate) {
  asm volatile(
      "{\n"
      "  .reg .pred accumulate;\n"
      "  setp.ne.b32 accumulate, %4, 0;\n"
      "  tcgen05.mma.cta_group::1.kind::f8f6f4 [%0], %1, %2, %3, accumulate;\n"
      "}\n" ::"r"(accumulator),
      "l"(a), "l"(b), "r"(instruction), "r"(static_cast<u32>(accumulate))
      : "memory");
}

// One arrival on the barrier once every MMA that this thread issued so far is complete.
__device__ __forceinline__ void mma_commit(u32 barrier) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier) : "memory");
}

// Between a barrier and the tensor memory accesses on either side of it.
__device__ __forceinline__ void tensor_memory_fence_after_barrier() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}
__device__ __forceinline__ void tensor_memory_fence_before_barrier() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
