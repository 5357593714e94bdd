// Warpgroup matrix multiply of sm_90a: e4m3 x e4m3 -> f32, both operands in shared memory, K-major.
// Sources: PTX ISA, "Asynchronous warpgroup level matrix instructions".
#pragma once
#include "common/types.cuh"

// The part of an operand descriptor that does not depend on the address: rows of DEPTH bytes,
// swizzled over their whole width, groups of eight rows one after the other.
constexpr u64 WGMMA_SWIZZLE = DEPTH == 128 ? 1 : DEPTH == 64 ? 2 : 3;
constexpr u64 WGMMA_DESCRIPTOR = WGMMA_SWIZZLE << 62 | static_cast<u64>(8 * DEPTH >> 4) << 32;

__device__ __forceinline__ u64 wgmma_descriptor(u32 address) {
  return WGMMA_DESCRIPTOR | (address & 0x3ffff) >> 4;
}

// Before the first wgmma after accumulators were read or written.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Starts d (64 x 128) = a (64 x DEPTH) * b (128 x DEPTH)^T, as one group; d may be touched after
// wgmma_wait only. A step of the depth is 32 bytes: two descriptor units further, inside the swizzle
// atom. One statement, because the compiler's time grows with their number.
__device__ __forceinline__ void wgmma_start(float (&d)[64], u64 a, u64 b) {
  asm volatile(
      "{\n"
      "  .reg .b64 a, b;\n"
      "  .reg .pred first, later;\n"
      "  mov.b64 a, %64;\n"
      "  mov.b64 b, %65;\n"
      "  setp.ne.b32 first, 0, 0;\n"
      "  setp.eq.b32 later, 0, 0;\n"
      "  wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3\n"
      "  {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20,\n"
      "   %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39,\n"
      "   %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58,\n"
      "   %59, %60, %61, %62, %63},\n"
      "  a, b, first, 1, 1;\n"
#if DEPTH >= 64
      "  add.s64 a, a, 2;\n"
      "  add.s64 b, b, 2;\n"
      "  wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3\n"
      "  {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20,\n"
      "   %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39,\n"
      "   %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58,\n"
      "   %59, %60, %61, %62, %63},\n"
      "  a, b, later, 1, 1;\n"
#endif
#if DEPTH >= 128
      "  add.s64 a, a, 2;\n"
      "  add.s64 b, b, 2;\n"
      "  wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3\n"
      "  {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20,\n"
      "   %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39,\n"
      "   %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58,\n"
      "   %59, %60, %61, %62, %63},\n"
      "  a, b, later, 1, 1;\n"
      "  add.s64 a, a, 2;\n"
      "  add.s64 b, b, 2;\n"
      "  wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3\n"
      "  {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20,\n"
      "   %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39,\n"
      "   %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58,\n"
      "   %59, %60, %61, %62, %63},\n"
      "  a, b, later, 1, 1;\n"
#endif
      "  wgmma.commit_group.sync.aligned;\n"
      "}\n"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]), "=f"(d[7]),
        "=f"(d[8]), "=f"(d[9]), "=f"(d[10]), "=f"(d[11]), "=f"(d[12]), "=f"(d[13]), "=f"(d[14]), "=f"(d[15]),
        "=f"(d[16]), "=f"(d[17]), "=f"(d[18]), "=f"(d[19]), "=f"(d[20]), "=f"(d[21]), "=f"(d[22]), "=f"(d[23]),
        "=f"(d[24]), "=f"(d[25]), "=f"(d[26]), "=f"(d[27]), "=f"(d[28]), "=f"(d[29]), "=f"(d[30]), "=f"(d[31]),
        "=f"(d[32]), "=f"(d[33]), "=f"(d[34]), "=f"(d[35]), "=f"(d[36]), "=f"(d[37]), "=f"(d[38]), "=f"(d[39]),
        "=f"(d[40]), "=f"(d[41]), "=f"(d[42]), "=f"(d[43]), "=f"(d[44]), "=f"(d[45]), "=f"(d[46]), "=f"(d[47]),
        "=f"(d[48]), "=f"(d[49]), "=f"(d[50]), "=f"(d[51]), "=f"(d[52]), "=f"(d[53]), "=f"(d[54]), "=f"(d[55]),
        "=f"(d[56]), "=f"(d[57]), "=f"(d[58]), "=f"(d[59]), "=f"(d[60]), "=f"(d[61]), "=f"(d[62]), "=f"(d[63])
      : "l"(a), "l"(b)
      : "memory");
}

// Waits until at most `pending` groups are unfinished. d: of a group that this finishes; naming it here
// keeps its uses behind the wait.
template <int pending>
__device__ __forceinline__ void wgmma_wait(float (&d)[64]) {
  asm volatile(
      "wgmma.wait_group.sync.aligned %64;\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
        "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
        "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
        "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "n"(pending)
      : "memory");
}
