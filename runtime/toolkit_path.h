// Programs of the CUDA toolkits that the environment names.
#pragma once

#include <string>

#include "runtime/config.h"

namespace mlaindex {

// `configured` if not empty, else the program of that name in CUDA_HOME or CUDA_PATH; empty: in neither.
std::string toolkit_path(const Config& config, const std::string& configured, const char* name);

}  // namespace mlaindex
