#include "runtime/loaded_kernel.h"

#include <utility>

#include "generator/base/format.h"

namespace mlaindex {
namespace {

constexpr int shared_bytes_without_opt_in = 48 * 1024;

Status check_arch(const DeviceProperties& device, Arch arch) {
  const int number = 10 * device.compute_capability_major + device.compute_capability_minor;
  if (number == arch_limits(arch).sm_number) return {};
  return Error{ErrorCode::unsupported_arch,
               fmt::format("the kernel was compiled for {}, GPU {} ({}) is sm_{}", arch_name(arch), device.ordinal,
                           device.name, number),
               "kernels of an 'a' target run on that one generation: compile for the GPU's own"};
}

}  // namespace

Result<LoadedKernel> LoadedKernel::load(std::shared_ptr<const Context> context, const CompiledKernel& kernel) {
  if (Status status = check_arch(context->properties(), kernel.spec.arch); !status) return status.error();
  const Driver& driver = context->driver();
  const ContextScope scope(*context);
  if (Status status = scope.status(); !status) return status.error();

  LoadedKernel loaded(context);
  const std::string what = fmt::format("loading {}", kernel.kernel_name);
  const auto code =
      driver->library_load_data(&loaded.library_, kernel.cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (Status status = driver.check(code, what + ": cuLibraryLoadData"); !status) return status.error();
  cuda::Kernel handle = nullptr;
  if (Status status = driver.check(driver->library_get_kernel(&handle, loaded.library_, kernel.kernel_name.c_str()),
                                   what + ": cuLibraryGetKernel");
      !status)
    return status.error();
  if (Status status =
          driver.check(driver->kernel_get_function(&loaded.function_, handle), what + ": cuKernelGetFunction");
      !status)
    return status.error();
  const int shared_bytes = kernel.plan.shared_bytes();
  if (shared_bytes > shared_bytes_without_opt_in) {
    const auto attribute = cuda::FunctionAttribute::max_dynamic_shared_size_bytes;
    if (Status status = driver.check(driver->function_set_attribute(loaded.function_, attribute, shared_bytes),
                                     fmt::format("{}: {} bytes of shared memory", what, shared_bytes));
        !status)
      return status.error();
  }
  return loaded;
}

Status LoadedKernel::launch(const LaunchShape& shape, cuda::Stream stream, void** parameters) const {
  const ContextScope scope(*context_);
  if (Status status = scope.status(); !status) return status;
  return enqueue(shape, stream, parameters);
}

Status LoadedKernel::enqueue(const LaunchShape& shape, cuda::Stream stream, void** parameters) const {
  cuda::LaunchAttribute overlap{cuda::LaunchAttributeId::programmatic_stream_serialization, {.allowed = 1}};
  const cuda::LaunchConfig config{.grid_x = static_cast<unsigned>(shape.grid_x),
                                  .grid_y = static_cast<unsigned>(shape.grid_y),
                                  .grid_z = 1,
                                  .block_x = static_cast<unsigned>(shape.num_threads),
                                  .block_y = 1,
                                  .block_z = 1,
                                  .dynamic_shared_bytes = static_cast<unsigned>(shape.dynamic_shared_bytes),
                                  .stream = stream,
                                  .attributes = &overlap,
                                  .num_attributes = shape.overlaps ? 1u : 0u};
  const Driver& driver = context_->driver();
  return driver.check(driver->launch_kernel(&config, function_, parameters, nullptr), "cuLaunchKernelEx");
}

LoadedKernel::~LoadedKernel() {
  if (library_ == nullptr) return;
  const ContextScope scope(*context_);
  context_->driver()->library_unload(library_);
}

LoadedKernel::LoadedKernel(LoadedKernel&& other) noexcept
    : context_(std::move(other.context_)), library_(std::exchange(other.library_, nullptr)),
      function_(std::exchange(other.function_, nullptr)) {}

LoadedKernel& LoadedKernel::operator=(LoadedKernel&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(library_, other.library_);
  std::swap(function_, other.function_);
  return *this;
}

}  // namespace mlaindex
