// The head sum where a thread owns a key and all 128 columns of its group.
//
// Column n is head n / T of token n % T, T = TOKENS_PER_GROUP: a pair of neighbouring columns is one head
// of two tokens, and a pair of sums two scores (T = 1: two heads of the one token). Two values travel
// together through the packed f32x2 instructions of sm_100.
#pragma once
#include "common/visible_range.cuh"
#include "sm100/fold_columns.cuh"

constexpr int ROW_SUMS = TOKENS_PER_GROUP > 4 ? TOKENS_PER_GROUP / 2 : 2;  // at least two: multiply-adds in flight

// Stages half of the weights of one block's columns, which undoes the doubling of fold_columns exactly, by
// one warp. Zero for padding heads and for tokens past the last.
__device__ __forceinline__ void stage_half_weights(float* staged, int first_token, const ScoreArguments& args) {
  constexpr int HEADS_OF_WARP = 32 / TOKENS_PER_GROUP;
  const int lane = lane_index();
  const int first_head = lane / TOKENS_PER_GROUP;
#pragma unroll
  for (int group = 0; group < COLUMN_GROUPS; ++group) {
    const int token = first_token + group * TOKENS_PER_GROUP + lane % TOKENS_PER_GROUP;
    const float* source = args.q_scale + token * args.q_scale_stride + first_head;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const bool used = token < args.num_tokens && first_head + i * HEADS_OF_WARP < NUM_HEADS;
      staged[128 * group + 32 * i + lane] = used ? 0.5f * source[i * HEADS_OF_WARP] : 0.0f;
    }
  }
}

__device__ __forceinline__ float load_global(const float* address) {
  float value;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"(address));
  return value;
}

// Volatile, so that a pointer moves on here, in place: elsewhere ptxas keeps a copy of the old one. In halves, because
// after a 64-bit addition ptxas may keep them apart and join them for every access.
template <class Element>
__device__ __forceinline__ void advance(Element*& pointer, int count) {
  asm volatile(
      "{\n"
      "  .reg .b32 low, high;\n"
      "  mov.b64 {low, high}, %0;\n"
      "  add.cc.u32 low, low, %1;\n"
      "  addc.u32 high, high, 0;\n"
      "  mov.b64 %0, {low, high};\n"
      "}\n"
      : "+l"(pointer)
      : "r"(static_cast<u32>(count * sizeof(Element))));
}

// Which scores of a thread are visible, of up to two keys, a bit each. The bits of a key start at a whole byte
// that is not the lowest, if they are few: so ptxas moves all of them to predicates at once.
#if TOKENS_PER_GROUP <= 4
using VisibleBits = u32;
constexpr int KEY_BITS = 8;
constexpr int FIRST_BIT = 8;
#else
using VisibleBits = u64;
constexpr int KEY_BITS = 32;
constexpr int FIRST_BIT = 0;
#endif

// For first_key and, of two keys, the one that is MMA_M behind it.
template <int NUM_KEYS>
__device__ __forceinline__ VisibleBits visible_bits(const VisibleRange* ranges, int first_key) {
  VisibleBits bits = 0;
#pragma unroll 1  // for tiles at the edges only
  for (int token = 0; token < TOKENS_PER_GROUP; ++token) {
    const VisibleRange range = ranges[token];
    const u32 num_visible = range.end - range.begin;
    const VisibleBits bit = VisibleBits{1} << (FIRST_BIT + token);
#pragma unroll
    for (int i = 0; i < NUM_KEYS; ++i) {
      if (static_cast<u32>(first_key + i * MMA_M - range.begin) < num_visible) bits |= bit << i * KEY_BITS;
    }
  }
  return bits;
}

// The slots of a key: of every token where they are few, else of the first one.
constexpr int KEPT_SLOTS = TOKENS_PER_GROUP <= 4 ? TOKENS_PER_GROUP : 1;

// Both values of a pair by one factor. ptxas reads it twice from its one register.
__device__ __forceinline__ u64 scaled(u64 pair, float factor) {
  u64 product;
  asm("{\n"
      "  .reg .b64 factors;\n"
      "  mov.b64 factors, {%2, %2};\n"
      "  mul.rn.f32x2 %0, %1, factors;\n"
      "}\n"
      : "=l"(product)
      : "l"(pair), "f"(factor));
  return product;
}

// Stores the scores of a key whose bits are set, the first of them first_bit, `offset` slots further.
__device__ __forceinline__ void store_row(ScoreElement* const (&slot)[KEPT_SLOTS], int offset, long long row_stride,
                                          VisibleBits visible, int first_bit, u64 (&sum)[ROW_SUMS], float k_scale) {
#if TOKENS_PER_GROUP <= 2
#if !FOLD_BF16
  asm("add.rn.f32x2 %0, %0, %1;" : "+l"(sum[0]) : "l"(sum[1]));
#endif
#endif
#if TOKENS_PER_GROUP > 4
  ScoreElement* next = slot[0] + offset;
#endif
#pragma unroll
  for (int token = 0; token < TOKENS_PER_GROUP; token += 2) {
    float even, odd;
#if TOKENS_PER_GROUP == 1
    asm("mov.b64 {%0, %1}, %2;" : "=f"(even), "=f"(odd) : "l"(sum[token / 2]));
    store_if(visible & 1u << first_bit, slot[0] + offset, (even + odd) * k_scale);
#else
    asm("mov.b64 {%0, %1}, %2;" : "=f"(even), "=f"(odd) : "l"(scaled(sum[token / 2], k_scale)));
#if TOKENS_PER_GROUP <= 4
    store_if(visible & 1u << (first_bit + token), slot[token] + offset, even);
    store_if(visible & 2u << (first_bit + token), slot[token + 1] + offset, odd);
#else
    const u32 bits = static_cast<u32>(visible >> first_bit);
    store_if(bits & 1u << token, next, even);
    next += row_stride;
    store_if(bits & 2u << token, next, odd);
    next += row_stride;
#endif
#endif
  }
}

