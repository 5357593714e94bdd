// Writing scores. A slot is written only where its token sees its key.
#pragma once
#include "common/visible_range.cuh"

__device__ __forceinline__ ScoreElement to_score(float value) {
#if SCORE_BF16
  u16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  return value;
#endif
}

__device__ __forceinline__ void store_score(const ScoreArguments& args, int token, VisibleRange visible, int key,
                                            float value) {
  if (key >= visible.begin && key < visible.end) {
    args.scores[token * args.row_stride + key] = to_score(value);
  }
}
