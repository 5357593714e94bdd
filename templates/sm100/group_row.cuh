// The head sums of a key: the thread's row of a group, all 128 columns of it. The kernel includes the fold.
#pragma once
#include "common/mbarrier.cuh"
#include "sm100/load_rows.cuh"
#include "sm100/row_fold.cuh"

// sum, zero at first, in the order of store_row. The warp arrives at `released` when it has read the row.
__device__ __forceinline__ void fold_row(u64 (&sum)[ROW_SUMS], u32 row, int lane, u32 released, const Weights& weight) {
#if FOLD_BF16
  u32 run[ROW_SUMS] = {};
#endif
#pragma unroll
  for (int column = 0; column < 128; column += LOADED_COLUMNS) {
    float dot[LOADED_COLUMNS];
    load_row_columns(dot, row + column);
    wait_for_columns();
    if (column + LOADED_COLUMNS == 128) {
      tensor_memory_fence_before_barrier();
      if (lane == 0) mbarrier_arrive(released);
    }
#pragma unroll
    for (int i = 0; i < LOADED_COLUMNS; i += FOLDED_COLUMNS) {
#if FOLD_BF16
      fold_columns(run + i / 2 % ROW_SUMS, dot + i, weight + (column + i) / 2);
      if ((column + i + FOLDED_COLUMNS) % RUN_COLUMNS == 0) end_runs(sum, run, column + i < RUN_COLUMNS);
#else
      fold_columns(sum + i / 2 % ROW_SUMS, dot + i, weight + (column + i) / 2);
#endif
    }
  }
}
