// An accumulator row of 128 lanes: each thread of a warpgroup owns one row.
#pragma once
#include "sm100/tcgen05.cuh"

constexpr int LOADED_COLUMNS = TOKENS_PER_GROUP <= 8 ? 64 : 32;  // many running sums leave few registers

// Starts loading consecutive columns of the thread's own row: for use behind wait_for_columns.
__device__ __forceinline__ void load_row_columns(float (&value)[LOADED_COLUMNS], u32 address) {
  asm volatile(
#if TOKENS_PER_GROUP <= 8
      "tcgen05.ld.sync.aligned.32x32b.x64.b32\n"
      "  {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20,\n"
      "   %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39,\n"
      "   %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58,\n"
      "   %59, %60, %61, %62, %63}, [%64];\n"
      : "=f"(value[0]), "=f"(value[1]), "=f"(value[2]), "=f"(value[3]), "=f"(value[4]), "=f"(value[5]),
        "=f"(value[6]), "=f"(value[7]), "=f"(value[8]), "=f"(value[9]), "=f"(value[10]), "=f"(value[11]),
        "=f"(value[12]), "=f"(value[13]), "=f"(value[14]), "=f"(value[15]), "=f"(value[16]), "=f"(value[17]),
        "=f"(value[18]), "=f"(value[19]), "=f"(value[20]), "=f"(value[21]), "=f"(value[22]), "=f"(value[23]),
        "=f"(value[24]), "=f"(value[25]), "=f"(value[26]), "=f"(value[27]), "=f"(value[28]), "=f"(value[29]),
        "=f"(value[30]), "=f"(value[31]), "=f"(value[32]), "=f"(value[33]), "=f"(value[34]), "=f"(value[35]),
        "=f"(value[36]), "=f"(value[37]), "=f"(value[38]), "=f"(value[39]), "=f"(value[40]), "=f"(value[41]),
        "=f"(value[42]), "=f"(value[43]), "=f"(value[44]), "=f"(value[45]), "=f"(value[46]), "=f"(value[47]),
        "=f"(value[48]), "=f"(value[49]), "=f"(value[50]), "=f"(value[51]), "=f"(value[52]), "=f"(value[53]),
        "=f"(value[54]), "=f"(value[55]), "=f"(value[56]), "=f"(value[57]), "=f"(value[58]), "=f"(value[59]),
        "=f"(value[60]), "=f"(value[61]), "=f"(value[62]), "=f"(value[63])
#else
      "tcgen05.ld.sync.aligned.32x32b.x32.b32\n"
      "  {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20,\n"
      "   %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];\n"
      : "=f"(value[0]), "=f"(value[1]), "=f"(value[2]), "=f"(value[3]), "=f"(value[4]), "=f"(value[5]),
        "=f"(value[6]), "=f"(value[7]), "=f"(value[8]), "=f"(value[9]), "=f"(value[10]), "=f"(value[11]),
        "=f"(value[12]), "=f"(value[13]), "=f"(value[14]), "=f"(value[15]), "=f"(value[16]), "=f"(value[17]),
        "=f"(value[18]), "=f"(value[19]), "=f"(value[20]), "=f"(value[21]), "=f"(value[22]), "=f"(value[23]),
        "=f"(value[24]), "=f"(value[25]), "=f"(value[26]), "=f"(value[27]), "=f"(value[28]), "=f"(value[29]),
        "=f"(value[30]), "=f"(value[31])
#endif
      : "r"(address)
      : "memory");
}

// Every load that the warp has started is complete.
__device__ __forceinline__ void wait_for_columns() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
