// The arguments of every generated kernel, host side. The device mirror is
// templates/common/arguments.cuh; both assert the same size and offsets.
//
// Kernel parameters, in order: q tensor map, k tensor map, k_scale tensor map (128 bytes each,
// 64-byte aligned, unused ones zero), KernelArguments, or PagedKernelArguments when keys are paged.
// Launch: the grid of generator/route.h, block (plan.num_threads), dynamic shared memory
// plan.shared_bytes().
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlaindex {

struct KernelArguments {
  std::uint64_t q_scale = 0;        // f32 [num_tokens, q_scale_stride]
  std::uint64_t k_scale = 0;        // f32 [num_keys]; paged: unused
  std::uint64_t scores = 0;         // f32 or bf16 [num_tokens, row_stride]
  std::uint64_t row_start = 0;      // i32 [num_tokens]; ragged masks: query_offsets i32 [num_requests + 1]
  std::uint64_t row_end = 0;        // i32 [num_tokens]; ragged masks: key_offsets i32 [num_requests + 1];
                                    // paged: context_lens i32 [num_requests] or [num_tokens]
  std::int64_t q_scale_stride = 0;  // elements
  std::int64_t row_stride = 0;      // elements
  std::int32_t num_tokens = 0;
  std::int32_t num_keys = 0;
  std::int32_t num_columns = 0;     // width of the output; visible ends are clamped to it
  std::int32_t num_requests = 0;    // ragged masks and paged keys
  std::uint32_t unit_share = 0;     // these of generator/resident_schedule.h; of plans that keep no keys 0
  std::uint16_t in_sequence = 0;
  std::uint16_t log2_pieces = 0;
};

struct PageArguments {
  std::uint64_t block_table = 0;          // i32 [num_requests, block_table_stride]
  std::uint64_t k_scale_table = 0;        // i32 [num_requests, k_scale_table_stride]; fused pages: the same
  std::int64_t block_table_stride = 0;    // elements
  std::int64_t k_scale_table_stride = 0;  // elements
  std::int32_t num_pages = 0;
  std::int32_t num_k_scale_pages = 0;
  std::int32_t next_n = 1;                // tokens a request; ragged masks: unused
  std::int32_t max_context = 0;           // keys that a row of the tables covers
};

struct PagedKernelArguments {
  KernelArguments scoring;
  PageArguments pages;
};

static_assert(sizeof(KernelArguments) == 80);
static_assert(sizeof(PagedKernelArguments) == 128);
static_assert(offsetof(KernelArguments, row_stride) == 48);
static_assert(offsetof(KernelArguments, num_requests) == 68);

}  // namespace mlaindex
