// The CUDA driver, opened at run time: this library loads and works where there is none.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "generator/base/result.h"
#include "runtime/driver_functions.h"
#include "runtime/driver_types.h"
#include "runtime/dynamic_library.h"

namespace mlaindex {

namespace cuda {

// None of them null once loaded.
struct DriverFunctions {
#define MLAINDEX_JIT_DECLARE(name, symbol, version, parameters) ReturnCode(*name) parameters = nullptr;
  MLAINDEX_JIT_DRIVER_FUNCTIONS(MLAINDEX_JIT_DECLARE)
#undef MLAINDEX_JIT_DECLARE
};

}  // namespace cuda

// Thread-safe: the functions are those of the driver.
class Driver {
 public:
  // Opens libcuda (`path`, or libcuda.so.1 when empty), looks every function up and initialises the
  // driver. Errors: no_driver (absent, older than CUDA 12.0, or incomplete), no_device, cuda_error.
  static Result<std::shared_ptr<const Driver>> load(const std::string& path = {});

  const cuda::DriverFunctions* operator->() const noexcept { return &functions_; }

  int version() const noexcept { return version_; }              // 13000 is CUDA 13.0
  std::string version_text() const;                              // "13.0"
  const std::string& path() const noexcept { return library_.path(); }

  // ok, or what failed with the driver's name and text for the code, and what to do about it.
  Status check(cuda::ReturnCode code, std::string_view what) const;
  Error error(cuda::ReturnCode code, std::string_view what) const;

 private:
  explicit Driver(DynamicLibrary library);
  Status look_up_functions();
  Status check_version();

  DynamicLibrary library_;
  cuda::DriverFunctions functions_;
  int version_ = 0;
};

}  // namespace mlaindex
