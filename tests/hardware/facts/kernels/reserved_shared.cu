// What the system keeps of shared memory, by its own account. Hardware only.
// out: u32: %reserved_smem_offset_begin, _end, _cap, _0, _1.
#include "prelude.cuh"

extern "C" __global__ void __launch_bounds__(32) fact(FACT_ARGUMENTS) {
  if (threadIdx.x != 0) return;
  u32 begin, end, cap, first, second;
  asm volatile("mov.b32 %0, %%reserved_smem_offset_begin;" : "=r"(begin));
  asm volatile("mov.b32 %0, %%reserved_smem_offset_end;" : "=r"(end));
  asm volatile("mov.b32 %0, %%reserved_smem_offset_cap;" : "=r"(cap));
  asm volatile("mov.b32 %0, %%reserved_smem_offset_0;" : "=r"(first));
  asm volatile("mov.b32 %0, %%reserved_smem_offset_1;" : "=r"(second));
  u32* const result = reinterpret_cast<u32*>(out);
  result[0] = begin;
  result[1] = end;
  result[2] = cap;
  result[3] = first;
  result[4] = second;
}
