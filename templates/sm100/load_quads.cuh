// An accumulator of 64 rows, sixteen in each warp's quarter: four threads share a row.
#pragma once
#include "sm100/tcgen05.cuh"

// All 128 columns, in the order of a wgmma accumulator: value[4j + 2 * row + v] of lane 4r+q is
// column 8j + 2q + v of row r + 8 * row. Complete on return.
__device__ __forceinline__ void load_quad_columns(float (&value)[64], u32 address) {
  asm volatile(
      "tcgen05.ld.sync.aligned.16x256b.x16.b32\n"
      "  {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21,\n"
      "   %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41,\n"
      "   %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61,\n"
      "   %62, %63}, [%64];\n"
      "tcgen05.wait::ld.sync.aligned;\n"
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
      : "r"(address)
      : "memory");
}
