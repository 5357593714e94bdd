// What every scoring kernel is given. Mirrors generator/kernel_arguments.h.
#pragma once
#include "common/types.cuh"

#if SCORE_BF16
using ScoreElement = u16;  // bf16 bits
#else
using ScoreElement = float;
#endif

struct ScoreArguments {
  const float* q_scale;      // [num_tokens, q_scale_stride]
  const float* k_scale;      // [num_keys]
  ScoreElement* scores;      // [num_tokens, row_stride]
#if MASK_RAGGED
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
  int k_scale_skip;          // floats between the k_scale map's aligned base and k_scale
  int reserved;
};
static_assert(sizeof(ScoreArguments) == 80, "generator/kernel_arguments.h has the same layout");
