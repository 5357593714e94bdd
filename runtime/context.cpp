#include "runtime/context.h"

#include <array>
#include <utility>

#include "generator/base/format.h"

namespace mlaindex {

using cuda::DeviceAttribute;
using cuda::ReturnCode;

Result<int> device_count(const Driver& driver) {
  int count = 0;
  if (Status status = driver.check(driver->device_get_count(&count), "cuDeviceGetCount"); !status)
    return status.error();
  return count;
}

Result<DeviceProperties> device_properties(const Driver& driver, int ordinal) {
  const auto count = device_count(driver);
  if (!count) return count.error();
  if (ordinal < 0 || ordinal >= *count) {
    return Error{ErrorCode::no_device, fmt::format("there is no GPU {}", ordinal),
                 fmt::format("{} usable GPUs, numbered from 0: see nvidia-smi and CUDA_VISIBLE_DEVICES", *count)};
  }
  cuda::DeviceOrdinal device = 0;
  if (Status status = driver.check(driver->device_get(&device, ordinal), "cuDeviceGet"); !status) return status.error();

  DeviceProperties properties;
  properties.ordinal = ordinal;
  std::array<char, 256> name{};
  if (Status status = driver.check(driver->device_get_name(name.data(), static_cast<int>(name.size()) - 1, device),
                                   "cuDeviceGetName");
      !status)
    return status.error();
  properties.name = name.data();
  if (Status status = driver.check(driver->device_total_memory(&properties.memory_bytes, device), "cuDeviceTotalMem");
      !status)
    return status.error();
  const std::array<std::pair<DeviceAttribute, int*>, 5> attributes{
      {{DeviceAttribute::compute_capability_major, &properties.compute_capability_major},
       {DeviceAttribute::compute_capability_minor, &properties.compute_capability_minor},
       {DeviceAttribute::multiprocessor_count, &properties.num_sms},
       {DeviceAttribute::l2_cache_bytes, &properties.l2_bytes},
       {DeviceAttribute::max_shared_memory_per_block_optin, &properties.max_shared_bytes_per_cta}}};
  for (const auto& [attribute, value] : attributes) {
    if (Status status = driver.check(driver->device_get_attribute(value, attribute, device), "cuDeviceGetAttribute");
        !status)
      return status.error();
  }
  return properties;
}

Context::Context(std::shared_ptr<const Driver> driver, DeviceProperties properties, cuda::ContextHandle handle)
    : driver_(std::move(driver)), properties_(std::move(properties)), handle_(handle) {}

Result<std::shared_ptr<const Context>> Context::open(std::shared_ptr<const Driver> driver, int ordinal) {
  auto properties = device_properties(*driver, ordinal);
  if (!properties) return properties.error();
  cuda::ContextHandle handle = nullptr;
  const ReturnCode code = (*driver)->primary_context_retain(&handle, ordinal);
  if (Status status = driver->check(code, fmt::format("cuDevicePrimaryCtxRetain of GPU {}", ordinal)); !status)
    return status.error();
  return std::shared_ptr<const Context>(new Context(std::move(driver), std::move(*properties), handle));
}

// The driver may already be gone when a static object is destroyed (deinitialized): nothing is left
// to release then, and nobody to tell.
Context::~Context() { (*driver_)->primary_context_release(properties_.ordinal); }

ContextScope::ContextScope(const Context& context) noexcept
    : context_(context), pushed_(context.driver()->context_push(context.handle())) {}

ContextScope::~ContextScope() {
  if (pushed_ != ReturnCode::success) return;
  cuda::ContextHandle popped = nullptr;
  context_.driver()->context_pop(&popped);
}

Status ContextScope::status() const { return context_.driver().check(pushed_, "cuCtxPushCurrent"); }

}  // namespace mlaindex
