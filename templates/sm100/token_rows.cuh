// The head sum where a thread owns a key and its row holds the tokens of a group one after the other.
//
// Column n of a group is head n % PADDED_HEADS of token n / PADDED_HEADS: two neighbouring columns are two heads of
// one token, and the columns of tokens that a block lacks are the last ones. Those are neither multiplied nor folded.
#pragma once
#include "common/mbarrier.cuh"
#include "common/request_schedule.cuh"
#include "sm100/fold_columns.cuh"
#include "sm100/load_rows.cuh"

constexpr int LOADS = 128 / LOADED_COLUMNS;  // of a row of a group
constexpr int TOKEN_SUMS = TOKENS_PER_GROUP > 8 ? 1 : 2;  // multiply-adds in flight, where other tokens' are too few

// The last load that brings columns of num_tokens tokens.
__device__ __forceinline__ int last_load(int num_tokens) {
#if TOKENS_PER_GROUP == 1
  return LOADS - 1;
#else
  return (num_tokens - 1) / (TOKENS_PER_GROUP / LOADS);
#endif
}

// Which tokens of a group see a key, a bit each. The bits start at a whole byte that is not the lowest, if they are
// few: so ptxas moves all of them to predicates at once.
#if TOKENS_PER_GROUP <= 4
constexpr int FIRST_BIT = 8;
#else
constexpr int FIRST_BIT = 0;
#endif

__device__ __forceinline__ u32 all_bits(int num_tokens) { return ~0u >> (32 - num_tokens) << FIRST_BIT; }

__device__ __forceinline__ u32 visible_bits(const Work& work, int first_token, int num_tokens, int key,
                                            const ScoreArguments& args) {
  u32 bits = 0;
  int token = 0;
#pragma unroll 1  // for tiles at the ends of requests only
  do {
    if (key < end_of_token(work, first_token + token, args)) bits |= 1u << (FIRST_BIT + token);
  } while (++token < num_tokens);
  return bits;
}

// The slots of a key: of every token where they are few, else of the first one.
constexpr int KEPT_SLOTS = TOKENS_PER_GROUP <= 4 ? TOKENS_PER_GROUP : 1;

#if FOLD_BF16
// The head sum of a token: runs of at most BF16_RUN products in bf16, a half for each of two columns, and in f32 what was
// summed before them. (-0 is what an addition leaves out.)
struct RunSums {
  u32 run[TOKEN_SUMS] = {};
  float before = -0.0f;
};

__device__ __forceinline__ float total(const RunSums& sum) {
  const u32 run = TOKEN_SUMS == 1 ? sum.run[0] : add_bf16(sum.run[0], sum.run[TOKEN_SUMS - 1]);
  return sum.before + (first_of_bf16(run) + second_of_bf16(run));
}

// Folds FOLDED_COLUMNS columns, which are those of the token from head on.
__device__ __forceinline__ void fold_run(RunSums& sum, int head, const float* dot, const u32* weight) {
  fold_columns(sum.run + head / 2 % TOKEN_SUMS, dot, weight);
  const int folded = head + FOLDED_COLUMNS;
  if (folded < PADDED_HEADS && folded % (2 * TOKEN_SUMS * BF16_RUN) == 0) sum = {{}, total(sum)};
}
#else
__device__ __forceinline__ float total(u64 (&sum)[TOKEN_SUMS]) {
  float even, odd;
#if TOKENS_PER_GROUP <= 8
  asm("add.rn.f32x2 %0, %0, %1;" : "+l"(sum[0]) : "l"(sum[1]));
#endif
  asm("mov.b64 {%0, %1}, %2;" : "=f"(even), "=f"(odd) : "l"(sum[0]));
  return even + odd;
}
#endif

__device__ __forceinline__ float load_shared(u32 address) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}

// Loads the thread's row of a group, folds it and stores the scores of the tokens whose bits are set. The row comes in
// loads up to `last`; behind that the warp arrives at `released`.
__device__ __forceinline__ void fold_row(u32 row, int last, int lane, u32 released, const Weights& weight, u32 visible,
                                         float k_scale, ScoreElement* const (&slot)[KEPT_SLOTS], long long row_stride) {
#if TOKENS_PER_GROUP == 1
#if FOLD_BF16
  RunSums sum;
#else
  u64 sum[TOKEN_SUMS] = {};
#endif
#elif TOKENS_PER_GROUP > 4
  ScoreElement* next = slot[0];
#endif
#pragma unroll
  for (int load = 0; load < LOADS; ++load) {
    if (load > 0 && load > last) break;  // the first one always comes
    float dot[LOADED_COLUMNS];
    load_row_columns(dot, row + load * LOADED_COLUMNS);
    wait_for_columns();
    tensor_memory_fence_before_barrier();
    if (lane == (load == last ? 0 : -1)) mbarrier_arrive(released);  // lane 0 of the last load: one comparison
    const auto* const weights = weight + load * LOADED_COLUMNS / 2;
#if TOKENS_PER_GROUP == 1
#pragma unroll
#if FOLD_BF16
    for (int i = 0; i < LOADED_COLUMNS; i += FOLDED_COLUMNS) fold_run(sum, load * LOADED_COLUMNS + i, dot + i, weights + i / 2);
#else
    for (int i = 0; i < LOADED_COLUMNS; i += FOLDED_COLUMNS) fold_columns(sum, dot + i, weights + i / 2);
#endif
#else
#pragma unroll
    for (int first = 0; first < LOADED_COLUMNS; first += PADDED_HEADS) {
      const int token = (load * LOADED_COLUMNS + first) / PADDED_HEADS;
#if FOLD_BF16
      RunSums sum;
#pragma unroll
      for (int i = 0; i < PADDED_HEADS; i += FOLDED_COLUMNS) fold_run(sum, i, dot + first + i, weights + (first + i) / 2);
#else
      u64 sum[TOKEN_SUMS] = {};
#pragma unroll
      for (int i = first; i < first + PADDED_HEADS; i += FOLDED_COLUMNS) {
        fold_columns(sum + i / 2 % TOKEN_SUMS, dot + i, weights + i / 2);
      }
#endif
#if TOKENS_PER_GROUP <= 4
      store_if(visible & 1u << (FIRST_BIT + token), slot[token], total(sum) * k_scale);
#else
      store_if(visible & 1u << token, next, total(sum) * k_scale);
      next += row_stride;
#endif
    }
#endif
  }
#if TOKENS_PER_GROUP == 1
  store_if(visible & 1u << FIRST_BIT, slot[0], total(sum) * k_scale);
#endif
}
