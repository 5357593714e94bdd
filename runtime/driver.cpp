#include "runtime/driver.h"

#include "generator/base/format.h"

namespace mlaindex {
namespace {

using cuda::ReturnCode;

// cuLibrary and tensor maps arrived with it.
constexpr int oldest_version = 12000;

constexpr std::string_view install_hint =
    "install the NVIDIA driver, or point MLAINDEX_JIT_CUDA_DRIVER at its libcuda.so.1; "
    "--device cpu needs none";

std::string version_name(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

ErrorCode error_code(ReturnCode code) noexcept {
  switch (code) {
    case ReturnCode::no_device:
    case ReturnCode::invalid_device: return ErrorCode::no_device;
    case ReturnCode::stub_library:
    case ReturnCode::system_driver_mismatch: return ErrorCode::no_driver;
    case ReturnCode::out_of_memory: return ErrorCode::out_of_memory;
    default: return ErrorCode::cuda_error;
  }
}

std::string_view hint(ReturnCode code) noexcept {
  switch (code) {
    case ReturnCode::out_of_memory: return "device memory is exhausted: free some, or score fewer tokens or keys";
    case ReturnCode::not_initialized:
      return "CUDA cannot be used in a process forked after its first use: start a fresh process";
    case ReturnCode::stub_library: return "this libcuda is the toolkit's stub: take it off LD_LIBRARY_PATH";
    case ReturnCode::no_device: return "no usable GPU: see nvidia-smi and CUDA_VISIBLE_DEVICES";
    case ReturnCode::invalid_device: return "no GPU has this number: see nvidia-smi and CUDA_VISIBLE_DEVICES";
    case ReturnCode::invalid_image: return "the kernel image is damaged: run 'mlaindex cache verify'";
    case ReturnCode::no_binary_for_gpu: return "the kernel was compiled for another GPU generation";
    case ReturnCode::invalid_ptx:
    case ReturnCode::unsupported_ptx_version:
      return "the driver is older than the compiler: update the driver, or use an older NVRTC";
    case ReturnCode::illegal_address:
    case ReturnCode::illegal_instruction:
    case ReturnCode::misaligned_address:
    case ReturnCode::launch_failed:
      return "the CUDA context is lost, and every later call fails alike: restart the process; "
             "run it under compute-sanitizer to find the access";
    case ReturnCode::launch_out_of_resources:
      return "the kernel needs more registers or shared memory than the GPU has";
    case ReturnCode::system_driver_mismatch:
      return "kernel module and libcuda differ in version: reboot, or reinstall the driver";
    case ReturnCode::stream_capture_unsupported: return "not allowed while the stream is being captured";
    case ReturnCode::unknown: return "often a driver or device left in a bad state: see dmesg for Xid messages";
    default: return {};
  }
}

}  // namespace

Driver::Driver(DynamicLibrary library) : library_(std::move(library)) {}

Result<std::shared_ptr<const Driver>> Driver::load(const std::string& path) {
  auto library = DynamicLibrary::open(path.empty() ? "libcuda.so.1" : path);
  if (!library) {
    return Error{ErrorCode::no_driver, "the CUDA driver cannot be opened: " + library.error().message,
                 std::string(install_hint)};
  }
  std::shared_ptr<Driver> driver(new Driver(std::move(*library)));
  if (Status status = driver->check_version(); !status) return status.error();
  if (Status status = driver->look_up_functions(); !status) return status.error();
  if (Status status = driver->check(driver->functions_.init(0), "cuInit"); !status) return status.error();
  return std::shared_ptr<const Driver>(std::move(driver));
}

Status Driver::check_version() {
  const auto get_version = library_.function<ReturnCode(int*)>("cuDriverGetVersion");
  if (get_version == nullptr) {
    return Error{ErrorCode::no_driver, fmt::format("{} exports no cuDriverGetVersion", library_.path()),
                 "it is no CUDA driver: point MLAINDEX_JIT_CUDA_DRIVER at the driver's libcuda.so.1"};
  }
  if (get_version(&version_) == ReturnCode::success && version_ >= oldest_version) return {};
  return Error{ErrorCode::no_driver,
               fmt::format("the driver ({}) supports CUDA {}", library_.path(), version_name(version_)),
               fmt::format("CUDA {} or newer is needed: update the NVIDIA driver", version_name(oldest_version))};
}

Status Driver::look_up_functions() {
  const auto missing = [&](const char* symbol, int version) -> Status {
    return Error{ErrorCode::no_driver,
                 fmt::format("the driver ({}, CUDA {}) lacks {}", library_.path(), version_name(version_), symbol),
                 fmt::format("drivers have it since CUDA {}: reinstall the NVIDIA driver", version_name(version))};
  };
#define MLAINDEX_JIT_LOOK_UP(name, symbol, version, parameters)                                     \
  functions_.name = library_.function<std::remove_pointer_t<decltype(functions_.name)>>(#symbol); \
  if (functions_.name == nullptr) return missing(#symbol, version);
  MLAINDEX_JIT_DRIVER_FUNCTIONS(MLAINDEX_JIT_LOOK_UP)
#undef MLAINDEX_JIT_LOOK_UP
  return {};
}

std::string Driver::version_text() const { return version_name(version_); }

Error Driver::error(ReturnCode code, std::string_view what) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (functions_.get_error_name(code, &name) != ReturnCode::success || name == nullptr) name = "an unknown error";
  if (functions_.get_error_string(code, &text) != ReturnCode::success || text == nullptr) text = "no description";
  return {error_code(code), fmt::format("{}: {} ({}): {}", what, name, static_cast<int>(code), text),
          std::string(hint(code))};
}

Status Driver::check(ReturnCode code, std::string_view what) const {
  if (code == ReturnCode::success) return {};
  return error(code, what);
}

}  // namespace mlaindex
