// Runs of products in bf16 where a thread owns all 128 columns of its group.
#pragma once
#include "sm100/fold_columns_bf16.cuh"
#include "sm100/row_fold.cuh"

// After this many columns of a row every run has BF16_RUN products, or all.
constexpr int RUN_COLUMNS = 2 * ROW_SUMS * BF16_RUN < 128 ? 2 * ROW_SUMS * BF16_RUN : 128;

// Adds the runs to the row's sums, or makes these of its first runs, and starts them anew.
__device__ __forceinline__ void end_runs(u64 (&sum)[ROW_SUMS], u32 (&run)[ROW_SUMS], bool first) {
#if TOKENS_PER_GROUP <= 2
  run[0] = add_bf16(run[0], run[1]);
  run[1] = 0;
#endif
#pragma unroll
  for (int i = 0; i < (TOKENS_PER_GROUP <= 2 ? 1 : ROW_SUMS); ++i) {
    u64 pair;
    asm("mov.b64 %0, {%1, %2};" : "=l"(pair) : "f"(first_of_bf16(run[i])), "f"(second_of_bf16(run[i])));
    run[i] = 0;
    if (first) {
      sum[i] = pair;
    } else {
      asm("add.rn.f32x2 %0, %0, %1;" : "+l"(sum[i]) : "l"(pair));
    }
  }
}
