// Launches one loaded kernel on device memory.
#pragma once

#include <cstdint>
#include <memory>

#include "generator/base/result.h"
#include "generator/route.h"
#include "runtime/loaded_kernel.h"
#include "runtime/tensor_map.h"

namespace mlaindex {

// Keys in pages, in device memory: see PagedKeys in runtime/paged_keys.h.
struct DevicePages {
  cuda::DevicePointer block_table = 0;    // i32 [num_requests, block_table_stride]
  cuda::DevicePointer k_scale_table = 0;  // i32 [num_requests, k_scale_table_stride]; fused pages: unused
  std::int64_t block_table_stride = 0;    // elements, >= pages_per_request
  std::int64_t k_scale_table_stride = 0;
  std::int64_t pages_per_request = 0;
  std::int64_t num_pages = 0;
  std::int64_t page_stride = 0;           // bytes, a multiple of 16
  std::int64_t num_k_scale_pages = 0;     // fused pages: unused
  std::int64_t k_scale_page_stride = 0;   // bytes, a multiple of 16
  std::int64_t next_n = 1;

  bool operator==(const DevicePages&) const = default;
};

// One scoring problem in device memory. Heads, depth, mask, score type and fill are the kernel's.
struct DeviceProblem {
  cuda::DevicePointer q = 0;          // e4m3 [num_tokens, num_heads, depth], 16-byte aligned
  cuda::DevicePointer q_scale = 0;    // f32 [num_tokens, q_scale_stride]
  cuda::DevicePointer k = 0;          // e4m3 [num_keys, depth], or pages; 16-byte aligned
  cuda::DevicePointer k_scale = 0;    // f32 [num_keys]; pages of scales, 16-byte aligned, null: fused pages
  cuda::DevicePointer scores = 0;     // f32 or bf16 [num_tokens, row_stride]
  cuda::DevicePointer row_start = 0;  // i32: per token; ragged masks: query_offsets [num_requests + 1]
  cuda::DevicePointer row_end = 0;    // i32: per token; ragged masks: key_offsets [num_requests + 1];
                                      // paged keys: context_lens
  std::int64_t q_scale_stride = 0;    // elements, >= num_heads
  std::int64_t row_stride = 0;        // elements, >= num_columns
  std::int64_t num_tokens = 0;
  std::int64_t num_keys = 0;
  std::int64_t num_columns = 0;
  std::int64_t num_requests = 0;      // ragged masks and paged keys
  DevicePages pages;                  // Layout::paged only
};

// Whether a launch may start while the one before it in its stream still runs (programmatic dependent launch). Its kernel
// waits until that one is complete and what it wrote can be seen, before it touches memory; so results are the same, and
// a start-up of half a microsecond and more is out of the way. Nothing is asked of the launch before; one that comes
// after may overlap in its turn.
enum class Overlap { allowed, never };

// For one thread at a time: it keeps what it derived from the last problem. A launch neither
// allocates, locks, hashes, synchronises nor touches a file.
class Launcher {
 public:
  // Loads the kernel onto the context's GPU; see LoadedKernel::load. Launches do not overlap where the kernel does not
  // wait by itself (an overridden one) or the driver is older than CUDA 12.3, whose graphs know no such launches.
  static Result<Launcher> create(std::shared_ptr<const Context> context, const CompiledKernel& kernel,
                                 Overlap overlap = Overlap::allowed);

  // Enqueues the scores of the problem on the stream (null: the default stream) and returns. No
  // tokens or no columns: nothing is enqueued. No keys or no requests: the fill only, if any.
  // Errors: invalid_argument, cuda_error, out_of_memory.
  Status launch(const DeviceProblem& problem, cuda::Stream stream);

  const Spec& spec() const noexcept { return spec_; }
  const Plan& plan() const noexcept { return plan_; }

 private:
  Launcher(LoadedKernel kernel, Spec spec, Plan plan, bool overlaps);

  Status prepare(const DeviceProblem& problem);
  Status prepare_paged_keys(const DeviceProblem& problem);
  Status launch_kernel(const DeviceProblem& problem, cuda::Stream stream);
  Status fill_rows(const DeviceProblem& problem, cuda::Stream stream) const;

  // What the tensor maps and the grid depend on.
  struct Prepared {
    cuda::DevicePointer q = 0, k = 0, k_scale = 0;
    std::int64_t num_tokens = 0, num_keys = 0, num_requests = 0;
    DevicePages pages;
    bool operator==(const Prepared&) const = default;
  };

  LoadedKernel kernel_;
  Spec spec_;
  Plan plan_;
  bool overlaps_;
  Prepared prepared_;
  LaunchGrid grid_;
  cuda::TensorMap q_map_{}, k_map_{}, k_scale_map_{};
};

}  // namespace mlaindex
