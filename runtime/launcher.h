// Launches one loaded kernel on device memory.
#pragma once

#include <cstdint>
#include <memory>

#include "generator/base/result.h"
#include "generator/kernel_arguments.h"
#include "runtime/context.h"
#include "runtime/kernel_store.h"
#include "runtime/loaded_kernel.h"
#include "runtime/tensor_map.h"

namespace mlaindex {

// One scoring problem in device memory. Heads, depth, mask, score type and fill are the kernel's.
struct DeviceProblem {
  cuda::DevicePointer q = 0;        // e4m3 [num_tokens, num_heads, depth], 16-byte aligned
  cuda::DevicePointer q_scale = 0;  // f32 [num_tokens, q_scale_stride]
  cuda::DevicePointer k = 0;        // e4m3 [num_keys, depth], 16-byte aligned
  cuda::DevicePointer k_scale = 0;  // f32 [num_keys]
  cuda::DevicePointer scores = 0;   // f32 or bf16 [num_tokens, row_stride]
  cuda::DevicePointer row_start = 0;  // i32: per token; query_offsets [num_requests + 1] when ragged
  cuda::DevicePointer row_end = 0;    // i32: per token; key_offsets [num_requests + 1] when ragged
  std::int64_t q_scale_stride = 0;  // elements, >= num_heads
  std::int64_t row_stride = 0;      // elements, >= num_columns
  std::int64_t num_tokens = 0;
  std::int64_t num_keys = 0;
  std::int64_t num_columns = 0;
  std::int64_t num_requests = 0;    // ragged masks only
};

// For one thread at a time: the encoded tensor maps of the last problem are kept. The launch path
// neither allocates, locks, hashes, synchronises nor touches a file.
class Launcher {
 public:
  // Loads the kernel into the context's device. Blocks until that device is idle.
  static Result<Launcher> create(std::shared_ptr<const Context> context, const CompiledKernel& kernel);

  // Enqueues the scores of the problem on the stream (null: the default stream) and returns.
  // Zero tokens or columns: nothing is enqueued. Zero keys or requests: only the fill, if any.
  Status launch(const DeviceProblem& problem, cuda::Stream stream);

  const Spec& spec() const noexcept { return spec_; }
  const Plan& plan() const noexcept { return plan_; }

 private:
  Launcher(std::shared_ptr<const Context> context, LoadedKernel kernel, Spec spec, Plan plan);

  Status validate(const DeviceProblem& problem) const;
  Status encode_maps(const DeviceProblem& problem);
  Status fill_rows(const DeviceProblem& problem, cuda::Stream stream) const;

  // What the tensor maps depend on.
  struct MapSource {
    cuda::DevicePointer q = 0, k = 0, k_scale = 0;
    std::int64_t num_tokens = 0, num_keys = 0;
    bool operator==(const MapSource&) const = default;
  };

  std::shared_ptr<const Context> context_;
  LoadedKernel kernel_;
  Spec spec_;
  Plan plan_;
  MapSource encoded_;
  cuda::TensorMap q_map_{}, k_map_{}, k_scale_map_{};
};

}  // namespace mlaindex
