// Writing scores. A slot is written only where its token sees its key.
#pragma once
#include "common/score_element.cuh"
#include "common/visible_range.cuh"

__device__ __forceinline__ void store_score(const ScoreArguments& args, int token, VisibleRange visible, int key,
                                            float value) {
  if (key >= visible.begin && key < visible.end) {
    args.scores[token * args.row_stride + key] = to_score(value);
  }
}
