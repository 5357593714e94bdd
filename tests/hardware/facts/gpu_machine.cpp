#include "tests/hardware/facts/gpu_machine.h"

#include "runtime/device_buffer.h"
#include "runtime/loaded_kernel.h"
#include "runtime/tensor_map.h"

namespace mlaindex::hardware {
namespace {

// "CUDA_ERROR_ILLEGAL_INSTRUCTION" of a longer message that has it.
std::string driver_name(const std::string& message) {
  const std::size_t begin = message.find("CUDA_ERROR_");
  if (begin == std::string::npos) return message;
  return message.substr(begin, message.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", begin) - begin);
}

}  // namespace

Result<std::unique_ptr<GpuMachine>> GpuMachine::open(FactKernels& kernels, const Config& config, int ordinal) {
  auto driver = Driver::load(config.cuda_driver_path);
  if (!driver) return driver.error();
  auto context = Context::open(*driver, ordinal);
  if (!context) return context.error();
  const DeviceProperties& device = (*context)->properties();
  if (device.compute_capability_major != 9 || device.compute_capability_minor != 0)
    return Error{ErrorCode::unsupported_arch, device.name + " is not sm_90", "these kernels are compiled for sm_90a"};
  return std::unique_ptr<GpuMachine>(new GpuMachine(kernels, std::move(*context)));
}

Result<Bytes> GpuMachine::run(const Experiment& experiment) {
  if (lost_) return not_run();
  Result<Bytes> output = launch(experiment);
  if (output || output.error().code != ErrorCode::cuda_error) return output;
  lost_ = !DeviceBuffer::allocate(context_, "probe", 16, true).ok();
  return Error{ErrorCode::cuda_error, driver_name(output.error().message), ""};
}

Result<Bytes> GpuMachine::launch(const Experiment& experiment) {
  const Result<const CompiledKernel*> compiled = kernels_.get(experiment);
  if (!compiled) return compiled.error();
  auto kernel = LoadedKernel::load(context_, **compiled);
  if (!kernel) return kernel.error();
  auto input = DeviceBuffer::allocate(context_, "in", experiment.input.size(), true);
  if (!input) return input.error();
  auto output = DeviceBuffer::allocate(context_, "out", experiment.output_bytes, true);
  if (!output) return output.error();
  if (Status status = input->upload(experiment.input); !status) return status.error();
  Bytes result(experiment.output_bytes);
  if (Status status = output->upload(result); !status) return status.error();

  const Driver& driver = context_->driver();
  const ContextScope scope(*context_);
  if (Status status = scope.status(); !status) return status.error();
  cuda::TensorMap map{};
  if (experiment.map) {
    TensorMapParams params = *experiment.map;
    params.address += experiment.map_over_output ? output->pointer() : input->pointer();
    if (Status status = encode(driver, params, map); !status) return status.error();
  }
  if (experiment.non_portable_cluster) {
    const auto code = driver->function_set_attribute(kernel->function(),
                                                     cuda::FunctionAttribute::non_portable_cluster_size_allowed, 1);
    if (Status status = driver.check(code, "allowing clusters over the portable size"); !status) return status.error();
  }
  KernelSettings settings = kernel_settings(experiment);
  cuda::DevicePointer in = input->pointer(), out = output->pointer();
  void* arguments[] = {&map, &in, &out, &settings};
  const LaunchShape shape{.grid_x = static_cast<int>(experiment.ctas),
                          .num_threads = static_cast<int>(experiment.threads),
                          .dynamic_shared_bytes = static_cast<int>(experiment.shared_bytes)};
  if (Status status = kernel->enqueue(shape, nullptr, arguments); !status) return status.error();
  if (Status status = output->download(result); !status) return status.error();  // waits for the kernel
  for (const DeviceBuffer* buffer : {&*input, &*output})
    if (Status status = buffer->check_guard_zones(); !status) return status.error();
  return result;
}

}  // namespace mlaindex::hardware
