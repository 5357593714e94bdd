// The arguments of every generated kernel, host side. The device mirror is
// templates/common/arguments.cuh; both assert the same size and offsets.
//
// Kernel parameters, in order: q tensor map, k tensor map, k_scale tensor map (128 bytes each,
// 64-byte aligned, unused ones zero), KernelArguments.
// Launch: the grid of generator/route.h, block (plan.num_threads), dynamic shared memory
// plan.shared_bytes().
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlaindex {

struct KernelArguments {
  std::uint64_t q_scale = 0;        // f32 [num_tokens, q_scale_stride]
  std::uint64_t k_scale = 0;        // f32 [num_keys]
  std::uint64_t scores = 0;         // f32 or bf16 [num_tokens, row_stride]
  std::uint64_t row_start = 0;      // i32 [num_tokens]; ragged masks: query_offsets i32 [num_requests + 1]
  std::uint64_t row_end = 0;        // i32 [num_tokens]; ragged masks: key_offsets i32 [num_requests + 1]
  std::int64_t q_scale_stride = 0;  // elements
  std::int64_t row_stride = 0;      // elements
  std::int32_t num_tokens = 0;
  std::int32_t num_keys = 0;
  std::int32_t num_columns = 0;     // width of the output; visible ends are clamped to it
  std::int32_t num_requests = 0;    // ragged masks only
  std::int32_t k_scale_skip = 0;    // floats between the k_scale map's aligned base and k_scale: 0..3
  std::int32_t reserved = 0;
};

static_assert(sizeof(KernelArguments) == 80);
static_assert(offsetof(KernelArguments, row_stride) == 48);
static_assert(offsetof(KernelArguments, k_scale_skip) == 72);

}  // namespace mlaindex
