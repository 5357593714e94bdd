// A compiled kernel on a GPU.
#pragma once

#include <memory>

#include "runtime/context.h"
#include "runtime/kernel_store.h"

namespace mlaindex {

struct LaunchShape {
  int grid_x = 1;
  int grid_y = 1;
  int num_threads = 1;
  int dynamic_shared_bytes = 0;
  bool overlaps = false;  // may start before the launch in front of it in the stream has ended
};

// Owns the loaded cubin and unloads it when gone.
class LoadedKernel {
 public:
  // Loads the cubin and resolves its kernel at once, so that a bad image fails here and not at the
  // first launch. Blocks until the GPU is idle. Errors: unsupported_arch (compiled for another GPU),
  // cuda_error, out_of_memory.
  static Result<LoadedKernel> load(std::shared_ptr<const Context> context, const CompiledKernel& kernel);
  ~LoadedKernel();
  LoadedKernel(LoadedKernel&& other) noexcept;
  LoadedKernel& operator=(LoadedKernel&& other) noexcept;

  // Enqueues it with these parameters, of which the driver takes what the kernel declares.
  Status launch(const LaunchShape& shape, cuda::Stream stream, void** parameters) const;
  // The same where the kernel's context is the current one.
  Status enqueue(const LaunchShape& shape, cuda::Stream stream, void** parameters) const;

  cuda::Function function() const noexcept { return function_; }
  const Context& context() const noexcept { return *context_; }

 private:
  explicit LoadedKernel(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  std::shared_ptr<const Context> context_;
  cuda::Library library_ = nullptr;
  cuda::Function function_ = nullptr;
};

}  // namespace mlaindex
