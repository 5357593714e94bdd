// The GPU that a command times on.
#pragma once

#include <memory>
#include <string>

#include "runtime/cuda_device.h"
#include "tools/session.h"

namespace mlaindex::tools {

// "auto" is cuda:0. Errors: no_device, also for the emulator and the CPU, which say nothing about a GPU's time;
// invalid_argument; those of CudaDevice::open.
Result<std::unique_ptr<CudaDevice>> open_gpu(Session& session, const std::string& name);

}  // namespace mlaindex::tools
