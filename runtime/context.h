// A GPU's primary context: shared with every other user of the GPU in this process.
#pragma once

#include <memory>
#include <string>

#include "generator/arch.h"
#include "runtime/driver.h"

namespace mlaindex {

struct DeviceProperties {
  int ordinal = 0;
  std::string name;  // "NVIDIA H200"
  int compute_capability_major = 0;
  int compute_capability_minor = 0;
  int num_sms = 0;
  int max_shared_bytes_per_cta = 0;
  int l2_bytes = 0;
  std::size_t memory_bytes = 0;
};

// The number of GPUs that this process may use.
Result<int> device_count(const Driver& driver);

// Properties without creating a context. no_device for an ordinal that does not exist.
Result<DeviceProperties> device_properties(const Driver& driver, int ordinal);

// Retains the primary context and releases it when gone. Thread-safe.
class Context {
 public:
  static Result<std::shared_ptr<const Context>> open(std::shared_ptr<const Driver> driver, int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const noexcept { return *driver_; }
  const DeviceProperties& properties() const noexcept { return properties_; }
  cuda::ContextHandle handle() const noexcept { return handle_; }

 private:
  Context(std::shared_ptr<const Driver> driver, DeviceProperties properties, cuda::ContextHandle handle);

  std::shared_ptr<const Driver> driver_;
  DeviceProperties properties_;
  cuda::ContextHandle handle_;
};

// Makes a context the calling thread's current one, and restores the previous one when gone.
class ContextScope {
 public:
  explicit ContextScope(const Context& context) noexcept;
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  // Whether the context could be made current.
  Status status() const;

 private:
  const Context& context_;
  cuda::ReturnCode pushed_;
};

}  // namespace mlaindex
