// The step of both folds over an accumulator of 64 keys: two columns of two keys.
#pragma once
#include "common/types.cuh"

#if FOLD_BF16
// first and second, of one key each, += relu(dot) * weight for two columns: of dot[0] and dot[1], of dot[2] and
// dot[3]. cvt keeps NaN under .relu, as the contract asks.
__device__ __forceinline__ void fold_four(u32& first, u32& second, const float* dot, u32 weights) {
  asm("{\n"
      "  .reg .b32 positive;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %3, %2;\n"
      "  fma.rn.bf16x2 %0, positive, %6, %0;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %5, %4;\n"
      "  fma.rn.bf16x2 %1, positive, %6, %1;\n"
      "}\n"
      : "+r"(first), "+r"(second)
      : "f"(dot[0]), "f"(dot[1]), "f"(dot[2]), "f"(dot[3]), "r"(weights));
}
#else
// sum[row][v] += relu(dot[2 * row + v]) * weight v, with a relu that keeps NaN, as the contract asks.
// ptxas keeps much of the order, and of the orders that were measured each of these is the fastest: by
// columns where a warpgroup has two accumulators, by keys where it has one.
__device__ __forceinline__ void fold_four(float (&sum)[2][2], const float* dot, float first_weight,
                                          float second_weight) {
  asm("{\n"
      "  .reg .f32 first, second;\n"
#if ACCUMULATORS == 2
      "  max.NaN.f32 first, %4, 0f00000000;\n"
      "  max.NaN.f32 second, %6, 0f00000000;\n"
      "  fma.rn.f32 %0, first, %8, %0;\n"
      "  fma.rn.f32 %2, second, %8, %2;\n"
      "  max.NaN.f32 first, %5, 0f00000000;\n"
      "  max.NaN.f32 second, %7, 0f00000000;\n"
      "  fma.rn.f32 %1, first, %9, %1;\n"
      "  fma.rn.f32 %3, second, %9, %3;\n"
#else
      "  max.NaN.f32 first, %4, 0f00000000;\n"
      "  max.NaN.f32 second, %5, 0f00000000;\n"
      "  fma.rn.f32 %0, first, %8, %0;\n"
      "  fma.rn.f32 %1, second, %9, %1;\n"
      "  max.NaN.f32 first, %6, 0f00000000;\n"
      "  max.NaN.f32 second, %7, 0f00000000;\n"
      "  fma.rn.f32 %2, first, %8, %2;\n"
      "  fma.rn.f32 %3, second, %9, %3;\n"
#endif
      "}\n"
      : "+f"(sum[0][0]), "+f"(sum[0][1]), "+f"(sum[1][0]), "+f"(sum[1][1])
      : "f"(dot[0]), "f"(dot[1]), "f"(dot[2]), "f"(dot[3]), "f"(first_weight), "f"(second_weight));
}
#endif
