#include "tools/bench/open_gpu.h"

#include <optional>

#include "generator/base/format.h"

namespace mlaindex::tools {

Result<std::unique_ptr<CudaDevice>> open_gpu(Session& session, const std::string& name) {
  if (name == "emulator" || name == "cpu") {
    return Error{ErrorCode::no_device,
                 fmt::format("--device {}: timings need a GPU; how long the {} takes says nothing about one", name,
                             name == "cpu" ? "reference" : "emulator"),
                 "allowed: auto, cuda:N; 'mlaindex explain --tokens N --keys N' predicts a bound without a GPU"};
  }
  const std::optional<int> ordinal = name == "auto" ? 0 : cuda_ordinal(name);
  if (!ordinal) {
    return Error{ErrorCode::invalid_argument, fmt::format("unknown device '{}'", name), "allowed: auto, cuda:N"};
  }
  auto device = CudaDevice::open(*ordinal, session.kernels(), session.config());
  if (!device) {
    return Error{device.error().code, "timings need a GPU: " + device.error().message,
                 "'mlaindex doctor' says what this machine lacks"};
  }
  return device;
}

}  // namespace mlaindex::tools
