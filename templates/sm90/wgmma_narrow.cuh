// The same matrix multiply with 64 columns, for blocks of few columns.
#pragma once
#include "sm90/wgmma.cuh"

// Starts d (64 x 64) = a (64 x DEPTH) * b (64 x DEPTH)^T, as one group; see wgmma_start above.
__device__ __forceinline__ void wgmma_start(float (&d)[32], u64 a, u64 b) {
  asm volatile(
      "{\n"
      "  .reg .b64 a, b;\n"
      "  .reg .pred first, later;\n"
      "  mov.b64 a, %32;\n"
      "  mov.b64 b, %33;\n"
      "  setp.ne.b32 first, 0, 0;\n"
      "  setp.eq.b32 later, 0, 0;\n"
      "  wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3\n"
      "  {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19,\n"
      "   %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31},\n"
      "  a, b, first, 1, 1;\n"
#if DEPTH >= 64
      "  add.s64 a, a, 2;\n"
      "  add.s64 b, b, 2;\n"
      "  wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3\n"
      "  {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19,\n"
      "   %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31},\n"
      "  a, b, later, 1, 1;\n"
#endif
#if DEPTH >= 128
      "  add.s64 a, a, 2;\n"
      "  add.s64 b, b, 2;\n"
      "  wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3\n"
      "  {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19,\n"
      "   %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31},\n"
      "  a, b, later, 1, 1;\n"
      "  add.s64 a, a, 2;\n"
      "  add.s64 b, b, 2;\n"
      "  wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3\n"
      "  {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19,\n"
      "   %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31},\n"
      "  a, b, later, 1, 1;\n"
#endif
      "  wgmma.commit_group.sync.aligned;\n"
      "}\n"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]), "=f"(d[7]),
        "=f"(d[8]), "=f"(d[9]), "=f"(d[10]), "=f"(d[11]), "=f"(d[12]), "=f"(d[13]), "=f"(d[14]), "=f"(d[15]),
        "=f"(d[16]), "=f"(d[17]), "=f"(d[18]), "=f"(d[19]), "=f"(d[20]), "=f"(d[21]), "=f"(d[22]), "=f"(d[23]),
        "=f"(d[24]), "=f"(d[25]), "=f"(d[26]), "=f"(d[27]), "=f"(d[28]), "=f"(d[29]), "=f"(d[30]), "=f"(d[31])
      : "l"(a), "l"(b)
      : "memory");
}

template <int pending>
__device__ __forceinline__ void wgmma_wait(float (&d)[32]) {
  asm volatile(
      "wgmma.wait_group.sync.aligned %32;\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "n"(pending)
      : "memory");
}
