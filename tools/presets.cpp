#include "tools/presets.h"

#include "generator/base/format.h"

namespace mlaindex::tools {

Result<Preset> find_preset(std::string_view name) {
  std::string allowed;
  for (const Preset& preset : presets) {
    if (preset.name == name) return preset;
    allowed += fmt::format("{}{}", allowed.empty() ? "allowed: " : ", ", preset.name);
  }
  return Error{ErrorCode::invalid_argument, fmt::format("unknown preset '{}'", name),
               allowed + "; or give --heads and --depth"};
}

}  // namespace mlaindex::tools
