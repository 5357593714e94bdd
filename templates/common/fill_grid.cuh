// -inf into the hidden slots of all tokens, shared out among all CTAs.
#pragma once
#include "common/fill_slots.cuh"
#include "common/visible_range.cuh"

// One warp's share of all rows, `worker` of `num_workers` warps. Long rows are cut, so that a few of
// them keep many warps busy.
__device__ __forceinline__ void fill_rows_of_grid(u32 worker, u32 num_workers, const ScoreArguments& args) {
  constexpr u32 CUT = 8192;  // slots
  const u32 cuts = (static_cast<u32>(args.num_columns) + CUT - 1) / CUT;
  u32 token = worker / cuts;
  u32 cut = worker % cuts;
#pragma unroll 1
  while (token < args.num_tokens) {
    const VisibleRange visible = visible_range(token, args);
    ScoreElement* row = args.scores + token * args.row_stride;
    const int begin = cut * CUT;
    const int end = min(begin + CUT, static_cast<u32>(args.num_columns));
    fill_slots(row, begin, min(end, visible.begin));
    fill_slots(row, max(begin, visible.end), end);
    token += num_workers / cuts;
    cut += num_workers % cuts;
    if (cut >= cuts) {
      cut -= cuts;
      ++token;
    }
  }
}
