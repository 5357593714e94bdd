// The head sum where a thread owns a key: what does not depend on the order of the columns in its row. Two values travel
// together through the packed f32x2 instructions of sm_100.
#pragma once
#include "common/score_element.cuh"

// Of the columns of a group, two to an element; they stay in registers while keys go by.
#if FOLD_BF16
using Weights = u32[64];
#else
using Weights = u64[64];
#endif

#if !FOLD_BF16
// sum += relu(dot) * weight for FOLDED_COLUMNS columns, two at a time. relu is x + |x|, which is branch-free, exact and
// keeps NaN, and where |x| costs nothing in machine code; half of the weight undoes its doubling. Both instructions of a
// pair take the FMA pipe, of which all pairs would take a little more time than the tensor core needs for their columns.
// So the first pair of 32 columns takes relu from the ALU pipe, as a maximum, and its whole weight: an issue slot more,
// two clocks of the FMA pipe less, the same bits. Many columns to a statement, because the compiler's time grows with
// their number; volatile, so that they stay behind the wait for the columns.
#if TOKENS_PER_GROUP <= 4
constexpr int FOLDED_COLUMNS = 32;
#else
constexpr int FOLDED_COLUMNS = 2;
#endif
__device__ __forceinline__ void fold_columns(u64* sum, const float* dot, const u64* weight) {
  asm volatile(
      "{\n"
      "  .reg .f32 low, high;\n"
      "  .reg .b64 dots, magnitudes;\n"
#if TOKENS_PER_GROUP <= 4
      "  max.NaN.f32 low, %2, 0f00000000;\n"
      "  max.NaN.f32 high, %3, 0f00000000;\n"
      "  mov.b64 dots, {low, high};\n"
      "  fma.rn.f32x2 %0, dots, %34, %0;\n"
      "  abs.f32 low, %4;\n"
      "  abs.f32 high, %5;\n"
      "  mov.b64 dots, {%4, %5};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %1, dots, %35, %1;\n"
      "  abs.f32 low, %6;\n"
      "  abs.f32 high, %7;\n"
      "  mov.b64 dots, {%6, %7};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %0, dots, %36, %0;\n"
      "  abs.f32 low, %8;\n"
      "  abs.f32 high, %9;\n"
      "  mov.b64 dots, {%8, %9};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %1, dots, %37, %1;\n"
      "  abs.f32 low, %10;\n"
      "  abs.f32 high, %11;\n"
      "  mov.b64 dots, {%10, %11};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %0, dots, %38, %0;\n"
      "  abs.f32 low, %12;\n"
      "  abs.f32 high, %13;\n"
      "  mov.b64 dots, {%12, %13};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %1, dots, %39, %1;\n"
      "  abs.f32 low, %14;\n"
      "  abs.f32 high, %15;\n"
      "  mov.b64 dots, {%14, %15};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %0, dots, %40, %0;\n"
      "  abs.f32 low, %16;\n"
      "  abs.f32 high, %17;\n"
      "  mov.b64 dots, {%16, %17};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %1, dots, %41, %1;\n"
      "  abs.f32 low, %18;\n"
      "  abs.f32 high, %19;\n"
      "  mov.b64 dots, {%18, %19};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %0, dots, %42, %0;\n"
      "  abs.f32 low, %20;\n"
      "  abs.f32 high, %21;\n"
      "  mov.b64 dots, {%20, %21};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %1, dots, %43, %1;\n"
      "  abs.f32 low, %22;\n"
      "  abs.f32 high, %23;\n"
      "  mov.b64 dots, {%22, %23};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %0, dots, %44, %0;\n"
      "  abs.f32 low, %24;\n"
      "  abs.f32 high, %25;\n"
      "  mov.b64 dots, {%24, %25};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %1, dots, %45, %1;\n"
      "  abs.f32 low, %26;\n"
      "  abs.f32 high, %27;\n"
      "  mov.b64 dots, {%26, %27};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %0, dots, %46, %0;\n"
      "  abs.f32 low, %28;\n"
      "  abs.f32 high, %29;\n"
      "  mov.b64 dots, {%28, %29};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %1, dots, %47, %1;\n"
      "  abs.f32 low, %30;\n"
      "  abs.f32 high, %31;\n"
      "  mov.b64 dots, {%30, %31};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %0, dots, %48, %0;\n"
      "  abs.f32 low, %32;\n"
      "  abs.f32 high, %33;\n"
      "  mov.b64 dots, {%32, %33};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %1, dots, %49, %1;\n"
      "}\n"
      : "+l"(sum[0]), "+l"(sum[1])
      : "f"(dot[0]), "f"(dot[1]), "f"(dot[2]), "f"(dot[3]), "f"(dot[4]), "f"(dot[5]), "f"(dot[6]), "f"(dot[7]),
        "f"(dot[8]), "f"(dot[9]), "f"(dot[10]), "f"(dot[11]), "f"(dot[12]), "f"(dot[13]), "f"(dot[14]), "f"(dot[15]),
        "f"(dot[16]), "f"(dot[17]), "f"(dot[18]), "f"(dot[19]), "f"(dot[20]), "f"(dot[21]), "f"(dot[22]),
        "f"(dot[23]), "f"(dot[24]), "f"(dot[25]), "f"(dot[26]), "f"(dot[27]), "f"(dot[28]), "f"(dot[29]),
        "f"(dot[30]), "f"(dot[31]), "l"(weight[0]), "l"(weight[1]), "l"(weight[2]),
        "l"(weight[3]), "l"(weight[4]), "l"(weight[5]), "l"(weight[6]), "l"(weight[7]),
        "l"(weight[8]), "l"(weight[9]), "l"(weight[10]), "l"(weight[11]), "l"(weight[12]),
        "l"(weight[13]), "l"(weight[14]), "l"(weight[15]));
#else
      "  abs.f32 low, %1;\n"
      "  abs.f32 high, %2;\n"
      "  mov.b64 dots, {%1, %2};\n"
      "  mov.b64 magnitudes, {low, high};\n"
      "  add.rn.f32x2 dots, dots, magnitudes;\n"
      "  fma.rn.f32x2 %0, dots, %3, %0;\n"
      "}\n"
      : "+l"(sum[0])
      : "f"(dot[0]), "f"(dot[1]), "l"(weight[0]));
#endif
}

// weight[i] packs what fold_columns wants of columns 2i and 2i+1: half of their weights, as staged, or twice that. (Not the
// weights themselves: half of a subnormal is rounded, and a score must not depend on the column that its token got.)
__device__ __forceinline__ void load_weights(Weights& weight, const float* staged) {
  const ulonglong2* quads = reinterpret_cast<const ulonglong2*>(staged);
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const ulonglong2 pairs = quads[i];
    weight[2 * i] = pairs.x;
    weight[2 * i + 1] = pairs.y;
#if TOKENS_PER_GROUP <= 4
    if (4 * i % FOLDED_COLUMNS == 0) asm("add.rn.f32x2 %0, %0, %0;" : "+l"(weight[2 * i]));
#endif
  }
}
#endif

// Stores where the condition is not 0.
__device__ __forceinline__ void store_if(u32 condition, ScoreElement* slot, float score) {
  asm volatile(
      "{\n"
      "  .reg .pred visible;\n"
      "  setp.ne.b32 visible, %0, 0;\n"
#if SCORE_BF16
      "  @visible st.global.b16 [%1], %2;\n"
      "}\n" ::"r"(condition), "l"(slot), "h"(to_score(score))
#else
      "  @visible st.global.f32 [%1], %2;\n"
      "}\n" ::"r"(condition), "l"(slot), "f"(to_score(score))
#endif
      : "memory");
}
