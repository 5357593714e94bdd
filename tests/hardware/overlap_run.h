// Launches that overlap must wait for each other.
#pragma once

#include <string>

#include "runtime/cuda_device.h"
#include "runtime/kernel_store.h"
#include "tools/case_file.h"

namespace mlaindex::hardware {

// Runs chains of launches of the case's kernel, each of which takes the scores of the one before as its q_scale and
// overwrites the scores of the one before that, and compares what launches that may overlap leave with what launches
// that may not leave. plan_name: empty for the default one. The text says what differs; empty: nothing does.
Result<std::string> run_overlapping(CudaDevice& device, KernelStore& store, const tools::Case& input,
                                    const std::string& plan_name);

}  // namespace mlaindex::hardware
