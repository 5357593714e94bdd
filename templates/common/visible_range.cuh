// Which keys a token sees: [begin, end), clamped to the keys that exist (paged: that the block table
// covers) and to the width of the output. An empty range ends where it begins.
#pragma once
#include "common/arguments.cuh"

struct VisibleRange {
  int begin;
  int end;
};

__device__ __forceinline__ VisibleRange clamped_range(int begin, int end, const ScoreArguments& args) {
  begin = max(begin, 0);
#if PAGED
  return {begin, max(begin, min(end, min(args.pages.max_context, args.num_columns)))};
#else
  return {begin, max(begin, min(end, min(args.num_keys, args.num_columns)))};
#endif
}

#if MASK_RAGGED
// The token belongs to the last request whose queries start at or before it. Requests after the first
// are bisected, so the time is bounded whatever the offsets hold; what decides is then read at once,
// because the time of a small launch is that of the loads that wait for each other.
__device__ __forceinline__ VisibleRange visible_range(int token, const ScoreArguments& args) {
  int low = 1;
  int high = args.num_requests;
#pragma unroll 1
  while (low < high) {
    const int middle = static_cast<u32>(low + high) / 2;
    if (args.query_offsets[middle] <= token) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const int first_query = args.query_offsets[low - 1];
  const int end_query = args.query_offsets[low];
#if PAGED
  const int first_key = 0;
  int end_key = args.context_lens[low - 1];
#else
  const int first_key = args.key_offsets[low - 1];
  int end_key = args.key_offsets[low];
#endif
#if MASK_CAUSAL
  end_key = max(end_key, 0) - (end_query - 1 - token);  // as many as later tokens of the request
#endif
  if (token < first_query || token >= end_query) end_key = 0;  // no branch around the loads
  return clamped_range(first_key, end_key, args);
}
#elif MASK_CONTEXT_ROWS
__device__ __forceinline__ VisibleRange visible_range(int token, const ScoreArguments& args) {
  return clamped_range(0, args.context_lens[token], args);
}
#elif MASK_CONTEXT
__device__ __forceinline__ VisibleRange visible_range(int token, const ScoreArguments& args) {
  const int request = token / args.pages.next_n;
  const int later_tokens = args.pages.next_n - 1 - token % args.pages.next_n;
  return clamped_range(0, max(args.context_lens[request], 0) - later_tokens, args);
}
#elif MASK_RANGES
__device__ __forceinline__ VisibleRange visible_range(int token, const ScoreArguments& args) {
  return clamped_range(args.row_start[token], args.row_end[token], args);
}
#else
__device__ __forceinline__ VisibleRange visible_range(int, const ScoreArguments& args) {
  return clamped_range(0, args.num_keys, args);
}
#endif
