#include "runtime/toolkit_path.h"

#include "generator/ptx/toolkit_program.h"

namespace mlaindex {

std::string toolkit_path(const Config& config, const std::string& configured, const char* name) {
  if (!configured.empty()) return configured;
  for (const std::filesystem::path& toolkit : config.toolkit_dirs) {
    const std::filesystem::path candidate = toolkit / "bin" / name;
    if (ptx::is_program(candidate)) return candidate.string();
  }
  return {};
}

}  // namespace mlaindex
