// How a case is scored.
#pragma once

#include <string>

namespace mlaindex::tools {

struct ScoreSettings {
  std::string plan;  // empty: the default
  int repeats = 1;   // runs of the same case, whose scores must have the same bits
  bool check = false;
};

}  // namespace mlaindex::tools
