// Where does dynamic shared memory start, after STATIC_BYTES static bytes, declared with ALIGNMENT?
// out: u32: address of the dynamic part, %dynamic_smem_size, %total_smem_size, address of the static part.
#include "prelude.cuh"

extern "C" __global__ void __launch_bounds__(32) fact(FACT_ARGUMENTS) {
  extern __shared__ __align__(ALIGNMENT) u8 dynamic[];
  u32* const result = reinterpret_cast<u32*>(out);
#if STATIC_BYTES
  __shared__ u8 fixed[STATIC_BYTES];
  if (threadIdx.x < STATIC_BYTES) reinterpret_cast<volatile u8*>(fixed)[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) result[3] = shared_address(fixed);
#endif
  if (threadIdx.x != 0) return;
  u32 dynamic_bytes, total_bytes;
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(dynamic_bytes));
  asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(total_bytes));
  result[0] = shared_address(dynamic);
  result[1] = dynamic_bytes;
  result[2] = total_bytes;
}
