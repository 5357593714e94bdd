// -inf into slots of a row. The slots that a token does not see are filled in the same launch as its
// scores, from warps that would be idle; visible slots are the math warps' own, so no order between
// the two is needed.
#pragma once
#include "common/arguments.cuh"

#if SCORE_BF16
constexpr u32 NEGATIVE_INFINITY_WORD = 0xff80ff80;  // two bf16
#else
constexpr u32 NEGATIVE_INFINITY_WORD = 0xff800000;
#endif

// One warp fills row[begin, end): 16 bytes a lane where aligned, single slots at both edges.
__device__ __forceinline__ void fill_slots(ScoreElement* row, int begin, int end) {
  constexpr int SLOTS_PER_STORE = 16 / sizeof(ScoreElement);
  if (begin >= end) return;
  const int lane = lane_index();
  const int misaligned = reinterpret_cast<u64>(row + begin) / sizeof(ScoreElement) % SLOTS_PER_STORE;
  const int head = min(end - begin, (SLOTS_PER_STORE - misaligned) % SLOTS_PER_STORE);
  const int wide_stores = (end - begin - head) / SLOTS_PER_STORE;
  ScoreElement* wide = row + begin + head;
#pragma unroll 1  // few registers: these warps gave theirs to the math warps
  for (int i = lane; i < wide_stores; i += 32) {
    asm volatile("st.global.v4.b32 [%0], {%1, %1, %1, %1};" ::"l"(wide + static_cast<long long>(i) * SLOTS_PER_STORE),
                 "r"(NEGATIVE_INFINITY_WORD)
                 : "memory");
  }
  const int tail_begin = begin + head + wide_stores * SLOTS_PER_STORE;
#pragma unroll 1
  for (int i = lane; i < head + end - tail_begin; i += 32) {
    const int slot = i < head ? begin + i : tail_begin + i - head;
#if SCORE_BF16
    row[slot] = 0xff80;
#else
    row[slot] = __int_as_float(NEGATIVE_INFINITY_WORD);
#endif
  }
}
