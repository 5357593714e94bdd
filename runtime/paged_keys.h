// Keys in pages, in host memory: what a request's block table leads to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "generator/base/result.h"

namespace mlaindex {

// Page p of a pool begins at p * stride bytes. Keys: page_size * depth e4m3 bytes. Scales: page_size f32,
// either behind the keys of the same page (a fused page), or in a pool of their own with their own table.
// Owns nothing.
struct PagedKeys {
  int page_size = 0;  // keys
  std::span<const std::uint8_t> pages;
  std::int64_t page_stride = 0;  // bytes, a multiple of 16
  std::int64_t num_pages = 0;

  std::span<const std::uint8_t> k_scale_pages;  // empty: fused pages
  std::int64_t k_scale_page_stride = 0;         // bytes, a multiple of 16
  std::int64_t num_k_scale_pages = 0;

  std::int64_t num_requests = 0;
  std::int64_t pages_per_request = 0;           // of a row of the tables
  std::span<const std::int32_t> block_table;    // [num_requests, pages_per_request]
  std::span<const std::int32_t> k_scale_table;  // the same for k_scale_pages; empty: fused pages

  std::span<const std::int32_t> context_lens;  // [num_requests]; Mask::context_rows: [num_tokens]
  int next_n = 1;                              // tokens a request; of no meaning to ragged masks

  bool fused() const noexcept { return k_scale_pages.empty() && k_scale_table.empty(); }
  std::int64_t max_context() const noexcept { return pages_per_request * page_size; }
};

inline constexpr int max_next_n = 1 << 20;

// ok, or invalid_argument: sizes, strides and alignments, not what the tables hold.
Status validate(const PagedKeys& paged, int depth);

// One key. A table entry that is no page of the pool stands for zeros, as it does for a kernel.
struct KeyView {
  std::span<const std::uint8_t> elements;  // [depth]; empty: zeros
  float scale = 0;
};

KeyView key_of_request(const PagedKeys& paged, int depth, std::int64_t request, std::int64_t key) noexcept;

}  // namespace mlaindex
