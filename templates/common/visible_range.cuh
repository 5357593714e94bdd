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
// The last request whose queries start at or before the token. Requests after the first are bisected, so
// the time is bounded whatever the offsets hold.
__device__ __forceinline__ int request_of(int token, const ScoreArguments& args) {
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
  return low - 1;
}

struct Request {
  int first_query;
  int end_query;
  int first_key;
  int end_key;
};

// Read at once, because the time of a small launch is that of the loads that wait for each other.
__device__ __forceinline__ Request read_request(int request, const ScoreArguments& args) {
#if PAGED
  return {args.query_offsets[request], args.query_offsets[request + 1], 0, args.context_lens[request]};
#else
  return {args.query_offsets[request], args.query_offsets[request + 1], args.key_offsets[request],
          args.key_offsets[request + 1]};
#endif
}

__device__ __forceinline__ VisibleRange visible_range(int token, const Request& request, const ScoreArguments& args) {
  int end_key = request.end_key;
#if MASK_CAUSAL
  end_key = max(end_key, 0) - (request.end_query - 1 - token);  // as many as later tokens of the request
#endif
  if (token < request.first_query || token >= request.end_query) end_key = 0;
  return clamped_range(request.first_key, end_key, args);
}

__device__ __forceinline__ VisibleRange visible_range(int token, const ScoreArguments& args) {
  return visible_range(token, read_request(request_of(token, args), args), args);
}
#else
// Batches without offsets.
struct Request {};

__device__ __forceinline__ Request read_request(int, const ScoreArguments&) { return {}; }
#endif

#if MASK_CONTEXT_ROWS
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
#elif !MASK_RAGGED
__device__ __forceinline__ VisibleRange visible_range(int, const ScoreArguments& args) {
  return clamped_range(0, args.num_keys, args);
}
#endif
