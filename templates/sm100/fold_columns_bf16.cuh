// The same head sum, by choice, in bf16: a pair of columns is one register from relu to the end of a run.
#pragma once
#include "common/bf16.cuh"
#include "sm100/fold_columns.cuh"

// run += relu(dot) * weight for FOLDED_COLUMNS columns, two at a time; cvt keeps NaN under .relu. Statements as in
// sm100/fold_columns.cuh, and volatile for the same reason.
constexpr int FOLDED_COLUMNS = TOKENS_PER_GROUP <= 4 ? 32 : 2;
__device__ __forceinline__ void fold_columns(u32* run, const float* dot, const u32* weight) {
  asm volatile(
      "{\n"
      "  .reg .b32 positive;\n"
#if TOKENS_PER_GROUP <= 4
      "  cvt.rn.relu.bf16x2.f32 positive, %3, %2;\n"
      "  fma.rn.bf16x2 %0, positive, %34, %0;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %5, %4;\n"
      "  fma.rn.bf16x2 %1, positive, %35, %1;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %7, %6;\n"
      "  fma.rn.bf16x2 %0, positive, %36, %0;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %9, %8;\n"
      "  fma.rn.bf16x2 %1, positive, %37, %1;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %11, %10;\n"
      "  fma.rn.bf16x2 %0, positive, %38, %0;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %13, %12;\n"
      "  fma.rn.bf16x2 %1, positive, %39, %1;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %15, %14;\n"
      "  fma.rn.bf16x2 %0, positive, %40, %0;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %17, %16;\n"
      "  fma.rn.bf16x2 %1, positive, %41, %1;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %19, %18;\n"
      "  fma.rn.bf16x2 %0, positive, %42, %0;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %21, %20;\n"
      "  fma.rn.bf16x2 %1, positive, %43, %1;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %23, %22;\n"
      "  fma.rn.bf16x2 %0, positive, %44, %0;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %25, %24;\n"
      "  fma.rn.bf16x2 %1, positive, %45, %1;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %27, %26;\n"
      "  fma.rn.bf16x2 %0, positive, %46, %0;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %29, %28;\n"
      "  fma.rn.bf16x2 %1, positive, %47, %1;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %31, %30;\n"
      "  fma.rn.bf16x2 %0, positive, %48, %0;\n"
      "  cvt.rn.relu.bf16x2.f32 positive, %33, %32;\n"
      "  fma.rn.bf16x2 %1, positive, %49, %1;\n"
      "}\n"
      : "+r"(run[0]), "+r"(run[1])
      : "f"(dot[0]), "f"(dot[1]), "f"(dot[2]), "f"(dot[3]), "f"(dot[4]), "f"(dot[5]), "f"(dot[6]), "f"(dot[7]),
        "f"(dot[8]), "f"(dot[9]), "f"(dot[10]), "f"(dot[11]), "f"(dot[12]), "f"(dot[13]), "f"(dot[14]), "f"(dot[15]),
        "f"(dot[16]), "f"(dot[17]), "f"(dot[18]), "f"(dot[19]), "f"(dot[20]), "f"(dot[21]), "f"(dot[22]), "f"(dot[23]),
        "f"(dot[24]), "f"(dot[25]), "f"(dot[26]), "f"(dot[27]), "f"(dot[28]), "f"(dot[29]), "f"(dot[30]), "f"(dot[31]),
        "r"(weight[0]), "r"(weight[1]), "r"(weight[2]), "r"(weight[3]), "r"(weight[4]), "r"(weight[5]), "r"(weight[6]),
        "r"(weight[7]), "r"(weight[8]), "r"(weight[9]), "r"(weight[10]), "r"(weight[11]), "r"(weight[12]),
        "r"(weight[13]), "r"(weight[14]), "r"(weight[15]));
#else
      "  cvt.rn.relu.bf16x2.f32 positive, %2, %1;\n"
      "  fma.rn.bf16x2 %0, positive, %3, %0;\n"
      "}\n"
      : "+r"(run[0])
      : "f"(dot[0]), "f"(dot[1]), "r"(weight[0]));
#endif
}

// weight[i] packs the weights of columns 2i and 2i+1, of which a half is staged.
__device__ __forceinline__ void load_weights(Weights& weight, const float* staged) {
  const float4* quads = reinterpret_cast<const float4*>(staged);
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const float4 halves = quads[i];
    weight[2 * i] = pack_bf16(2 * halves.x, 2 * halves.y);
    weight[2 * i + 1] = pack_bf16(2 * halves.z, 2 * halves.w);
  }
}
