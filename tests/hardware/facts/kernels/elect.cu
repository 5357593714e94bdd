// Which lane does elect.sync choose?
// in: num_masks masks. out: u32 [num_masks][32]; bit 8: the lane took part, bits 0-7: the leader that it
// was told, bit 16: it is the leader itself.
// settings: num_masks, lanes that exit before the first mask.
#include "prelude.cuh"

extern "C" __global__ void __launch_bounds__(32) fact(FACT_ARGUMENTS) {
  const u32 lane = threadIdx.x;
  if (static_cast<int>(lane) < settings.v[1]) return;
#pragma unroll 1
  for (int i = 0; i < settings.v[0]; ++i) {
    const u32 mask = reinterpret_cast<const u32*>(in)[i];
    if ((mask >> lane & 1) == 0) continue;
    u32 leader, elected;
    asm volatile(
        "{\n"
        "  .reg .pred p;\n"
        "  elect.sync %0|p, %2;\n"
        "  selp.u32 %1, 1, 0, p;\n"
        "}\n"
        : "=r"(leader), "=r"(elected)
        : "r"(mask));
    reinterpret_cast<u32*>(out)[32 * i + lane] = 0x100 | leader | elected << 16;
  }
}
