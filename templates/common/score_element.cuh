// From f32 to what a slot of the output holds.
#pragma once
#include "common/arguments.cuh"

__device__ __forceinline__ ScoreElement to_score(float value) {
#if SCORE_BF16
  u16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  return value;
#endif
}
