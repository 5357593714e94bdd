// One scoring problem in host memory, and the one host definition of its contract's edges: which
// values are allowed, and which keys a token sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "generator/base/result.h"
#include "generator/route.h"
#include "generator/spec.h"
#include "runtime/paged_keys.h"

namespace mlaindex {

// Most tokens, keys, columns or requests: kernels count in 32 bits, and step past the last by less
// than a tile or a CTA.
inline constexpr std::int64_t max_extent = 2147483647 - 1024;

// score[t, k] = k_scale[k] * sum_h relu(q[t, h, :] . k[k, :]) * q_scale[t, h]. Owns nothing.
struct ScoreProblem {
  Layout layout = Layout::contiguous;
  Mask mask = Mask::full;
  ScoreType score_type = ScoreType::f32;
  Fill fill = Fill::none;
  FoldType fold = FoldType::f32;
  int num_heads = 0;
  int depth = 0;
  std::int64_t num_tokens = 0;
  std::int64_t num_keys = 0;        // paged: of the longest request that the block table has room for
  std::int64_t num_columns = 0;     // width of the output; slots of a row beyond it are never written
  std::int64_t row_stride = 0;      // elements from one row of scores to the next, >= num_columns
  std::int64_t q_scale_stride = 0;  // elements from one row of q_scale to the next, >= num_heads

  std::span<const std::uint8_t> q;      // e4m3 [num_tokens, num_heads, depth]
  std::span<const float> q_scale;       // [num_tokens, q_scale_stride]; the last row may be short
  std::span<const std::uint8_t> k;      // e4m3 [num_keys, depth]; paged: empty
  std::span<const float> k_scale;       // [num_keys]; paged: empty
  PagedKeys paged;                      // Layout::paged only
  std::span<const std::int32_t> row_start;      // Mask::ranges: [num_tokens]
  std::span<const std::int32_t> row_end;        // Mask::ranges: [num_tokens]
  std::span<const std::int32_t> query_offsets;  // ragged masks: [num_requests + 1], non-decreasing
  std::span<const std::int32_t> key_offsets;    // ragged masks, contiguous keys: [num_requests + 1]

  // Of paged keys and ragged masks; else 0.
  std::int64_t num_requests() const noexcept {
    if (layout == Layout::paged) return paged.num_requests;
    return query_offsets.empty() ? 0 : static_cast<std::int64_t>(query_offsets.size()) - 1;
  }
};

// Scores in host memory, [num_tokens, row_stride] elements of the problem's score type.
using ScoreBuffer = std::span<std::byte>;

// ok, or invalid_argument or unsupported_shape saying what was given and what is allowed.
Status validate(const ScoreProblem& problem);

std::size_t score_bytes(ScoreType type) noexcept;  // 4 or 2

// Bytes of a ScoreBuffer of this problem: num_tokens * row_stride elements.
std::size_t score_buffer_bytes(const ScoreProblem& problem) noexcept;

// invalid_argument when the buffer's size is not score_buffer_bytes(problem).
Status validate(const ScoreProblem& problem, std::span<const std::byte> scores);

// Keys [begin, end); empty exactly when begin == end.
struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool empty() const noexcept { return begin == end; }
  std::int64_t size() const noexcept { return end - begin; }
};

// The keys that a token sees, 0 <= token < num_tokens of a valid problem. Whatever the mask gives is
// clamped: begin = max(begin, 0), end = min(end, num_keys, num_columns), and begin >= end is {0, 0}.
// Ragged masks: the token belongs to the last request b with query_offsets[b] <= token <
// query_offsets[b + 1], and sees nothing when there is none. Paged keys: begin = 0, and the end is that of
// the mask (Mask in generator/spec.h) for context_lens.
KeyRange visible_range(const ScoreProblem& problem, std::int64_t token) noexcept;

// The request of a token that sees keys: whose keys it sees. 0 where keys belong to no request.
std::int64_t request_of(const ScoreProblem& problem, std::int64_t token) noexcept;

// A key that the request's tokens see.
KeyView key_view(const ScoreProblem& problem, std::int64_t request, std::int64_t key) noexcept;

ProblemSize size_of(const ScoreProblem& problem) noexcept;

// What has to be compiled for this problem on that arch.
Spec spec_for(const ScoreProblem& problem, Arch arch) noexcept;

}  // namespace mlaindex
