// Pairs of bf16 in a register: first in the lower half. NaN stays NaN throughout.
#pragma once
#include "common/types.cuh"

// Both rounded to nearest even.
__device__ __forceinline__ u32 pack_bf16(float first, float second) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(pair) : "f"(first), "f"(second));
  return pair;
}

__device__ __forceinline__ u32 add_bf16(u32 a, u32 b) {
  u32 sum;
  asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
  return sum;
}

__device__ __forceinline__ float first_of_bf16(u32 pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float second_of_bf16(u32 pair) { return __uint_as_float(pair & 0xffff0000); }
