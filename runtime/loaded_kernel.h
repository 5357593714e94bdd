// A compiled kernel on a GPU.
#pragma once

#include <memory>

#include "runtime/context.h"
#include "runtime/kernel_store.h"

namespace mlaindex {

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

  cuda::Function function() const noexcept { return function_; }
  const Context& context() const noexcept { return *context_; }

 private:
  explicit LoadedKernel(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  std::shared_ptr<const Context> context_;
  cuda::Library library_ = nullptr;
  cuda::Function function_ = nullptr;
};

}  // namespace mlaindex
