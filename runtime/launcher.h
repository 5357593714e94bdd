// Launches one loaded kernel on device memory.
#pragma once

#include <cstdint>
#include <memory>

#include "generator/base/result.h"
#include "generator/route.h"
#include "runtime/loaded_kernel.h"
#include "runtime/tensor_map.h"

namespace mlaindex {

// One scoring problem in device memory. Heads, depth, mask, score type and fill are the kernel's.
struct DeviceProblem {
  cuda::DevicePointer q = 0;          // e4m3 [num_tokens, num_heads, depth], 16-byte aligned
  cuda::DevicePointer q_scale = 0;    // f32 [num_tokens, q_scale_stride]
  cuda::DevicePointer k = 0;          // e4m3 [num_keys, depth], 16-byte aligned
  cuda::DevicePointer k_scale = 0;    // f32 [num_keys]
  cuda::DevicePointer scores = 0;     // f32 or bf16 [num_tokens, row_stride]
  cuda::DevicePointer row_start = 0;  // i32: per token; ragged masks: query_offsets [num_requests + 1]
  cuda::DevicePointer row_end = 0;    // i32: per token; ragged masks: key_offsets [num_requests + 1]
  std::int64_t q_scale_stride = 0;    // elements, >= num_heads
  std::int64_t row_stride = 0;        // elements, >= num_columns
  std::int64_t num_tokens = 0;
  std::int64_t num_keys = 0;
  std::int64_t num_columns = 0;
  std::int64_t num_requests = 0;      // ragged masks only
};

// For one thread at a time: it keeps what it derived from the last problem. A launch neither
// allocates, locks, hashes, synchronises nor touches a file.
class Launcher {
 public:
  // Loads the kernel onto the context's GPU; see LoadedKernel::load.
  static Result<Launcher> create(std::shared_ptr<const Context> context, const CompiledKernel& kernel);

  // Enqueues the scores of the problem on the stream (null: the default stream) and returns. No
  // tokens or no columns: nothing is enqueued. No keys or no requests: the fill only, if any.
  // Errors: invalid_argument, cuda_error, out_of_memory.
  Status launch(const DeviceProblem& problem, cuda::Stream stream);

  const Spec& spec() const noexcept { return spec_; }
  const Plan& plan() const noexcept { return plan_; }

 private:
  Launcher(LoadedKernel kernel, Spec spec, Plan plan);

  Status prepare(const DeviceProblem& problem);
  Status launch_kernel(const DeviceProblem& problem, cuda::Stream stream);
  Status fill_rows(const DeviceProblem& problem, cuda::Stream stream) const;

  // What the tensor maps and the grid depend on.
  struct Prepared {
    cuda::DevicePointer q = 0, k = 0, k_scale = 0;
    std::int64_t num_tokens = 0, num_keys = 0;
    bool operator==(const Prepared&) const = default;
  };

  LoadedKernel kernel_;
  Spec spec_;
  Plan plan_;
  Prepared prepared_;
  LaunchGrid grid_;
  cuda::TensorMap q_map_{}, k_map_{}, k_scale_map_{};
};

}  // namespace mlaindex
