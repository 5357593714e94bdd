// An accumulator row of 128 lanes: each thread of a warpgroup owns one row.
#pragma once
#include "sm100/tcgen05.cuh"

// 32 consecutive columns of the thread's own row. Complete on return.
__device__ __forceinline__ void load_row_columns(float (&value)[32], u32 address) {
  asm volatile(
      "tcgen05.ld.sync.aligned.32x32b.x32.b32\n"
      "  {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21,\n"
      "   %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];\n"
      "tcgen05.wait::ld.sync.aligned;\n"
      : "=f"(value[0]), "=f"(value[1]), "=f"(value[2]), "=f"(value[3]), "=f"(value[4]), "=f"(value[5]),
        "=f"(value[6]), "=f"(value[7]), "=f"(value[8]), "=f"(value[9]), "=f"(value[10]), "=f"(value[11]),
        "=f"(value[12]), "=f"(value[13]), "=f"(value[14]), "=f"(value[15]), "=f"(value[16]), "=f"(value[17]),
        "=f"(value[18]), "=f"(value[19]), "=f"(value[20]), "=f"(value[21]), "=f"(value[22]), "=f"(value[23]),
        "=f"(value[24]), "=f"(value[25]), "=f"(value[26]), "=f"(value[27]), "=f"(value[28]), "=f"(value[29]),
        "=f"(value[30]), "=f"(value[31])
      : "r"(address)
      : "memory");
}
