// Where a program of the CUDA toolkit is: ptxas, nvdisasm.
#pragma once

#include <filesystem>
#include <string>

#include "generator/base/result.h"

namespace mlaindex::ptx {

// Whether the path is a file that may be run.
bool is_program(const std::filesystem::path& path);

// `configured` if not empty, else the program of that name in the folders of PATH, else in the usual place of the
// toolkit. Error: no_nvrtc when there is none, with what was looked for.
Result<std::string> find_toolkit_program(const std::string& name, const std::string& configured);

}  // namespace mlaindex::ptx
