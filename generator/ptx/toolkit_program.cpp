#include "generator/ptx/toolkit_program.h"

#include <stdlib.h>
#include <unistd.h>

#include <sstream>

namespace mlaindex::ptx {
namespace {

namespace fs = std::filesystem;

constexpr const char* toolkit_folder = "/usr/local/cuda/bin";

}  // namespace

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

Result<std::string> find_toolkit_program(const std::string& name, const std::string& configured) {
  if (!configured.empty()) {
    if (is_program(configured)) return configured;
    return Error{ErrorCode::no_nvrtc, "no program at " + configured, "give the path of " + name};
  }
  if (const char* path = getenv("PATH")) {
    std::istringstream folders{std::string(path)};
    for (std::string folder; std::getline(folders, folder, ':');) {
      const fs::path candidate = fs::path(folder) / name;
      if (candidate.is_absolute() && is_program(candidate)) return candidate.string();
    }
  }
  const fs::path usual = fs::path(toolkit_folder) / name;
  if (is_program(usual)) return usual.string();
  return Error{ErrorCode::no_nvrtc, "no " + name + " in PATH or the CUDA toolkit",
               "install the CUDA toolkit, or give the path of " + name};
}

}  // namespace mlaindex::ptx
