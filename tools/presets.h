// The indexer shapes of published models.
#pragma once

#include <array>
#include <string_view>

#include "generator/base/result.h"

namespace mlaindex::tools {

struct Preset {
  std::string_view name;
  int num_heads;  // index_n_heads of the model's configuration
  int depth;      // index_head_dim
};

inline constexpr std::array<Preset, 3> presets{{
    {"deepseek-v3.2", 64, 128},
    {"deepseek-v4", 64, 128},
    {"glm-5", 32, 128},
}};

// invalid_argument for an unknown name, with the known ones.
Result<Preset> find_preset(std::string_view name);

}  // namespace mlaindex::tools
