// What a launch costs the host.
#pragma once

#include "runtime/kernel_store.h"
#include "runtime/cuda_device.h"
#include "tools/case_file.h"

namespace mlaindex::hardware {

struct LaunchCost {
  double same_buffers_us = 0;  // median of launches whose tensor maps are already encoded
  double new_buffers_us = 0;   // median of launches that each encode their tensor maps
};

// Of the case's default kernel, loaded and with its data on the GPU.
Result<LaunchCost> measure_launch_cost(CudaDevice& device, KernelStore& store, const tools::Case& input);

}  // namespace mlaindex::hardware
