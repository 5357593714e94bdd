// What every scoring kernel is given. Mirrors generator/kernel_arguments.h.
#pragma once
#include "common/types.cuh"

#if SCORE_BF16
using ScoreElement = u16;  // bf16 bits
#else
using ScoreElement = float;
#endif

#if PAGED
// Where the keys of requests lie.
struct PageArguments {
  const int* block_table;          // [num_requests, block_table_stride]: pages of keys
  const int* k_scale_table;        // [num_requests, k_scale_table_stride]: pages of scales, often the same
  long long block_table_stride;    // elements
  long long k_scale_table_stride;  // elements
  int num_pages;                   // a page of this index or beyond reads as zeros
  int num_k_scale_pages;
  int next_n;                      // tokens a request; ragged masks: unused
  int max_context;                 // keys that a row of the tables covers
};

#endif
struct ScoreArguments {
  const float* q_scale;      // [num_tokens, q_scale_stride]
  const float* k_scale;      // [num_keys]
  ScoreElement* scores;      // [num_tokens, row_stride]
#if PAGED
  const int* query_offsets;  // [num_requests + 1], ragged masks only
  const int* context_lens;   // [num_requests], or [num_tokens] when every token has a length
#elif MASK_RAGGED
  const int* query_offsets;  // [num_requests + 1]
  const int* key_offsets;    // [num_requests + 1]
#else
  const int* row_start;      // [num_tokens], unused when every token sees every key
  const int* row_end;        // [num_tokens]
#endif
  long long q_scale_stride;  // elements
  long long row_stride;      // elements
  int num_tokens;
  int num_keys;
  int num_columns;           // width of the output: visible ends are clamped to it
  int num_requests;
  u32 unit_share;            // keys that stay, see common/resident_schedule.cuh: units of a CTA, or 2^31 / so many
  u16 in_sequence;           // which of both
  u16 log2_pieces;           // of a tile
#if PAGED
  PageArguments pages;
};
static_assert(sizeof(ScoreArguments) == 128, "generator/kernel_arguments.h has the same layout");
#else
};
static_assert(sizeof(ScoreArguments) == 80, "generator/kernel_arguments.h has the same layout");
#endif
