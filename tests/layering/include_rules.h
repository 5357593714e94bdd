// Who may include whom (docs/development.md), as a function that can be tried on samples.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlaindex::layering {

struct Include {
  int line = 0;
  bool quoted = false;  // "..." rather than <...>
  std::string path;     // as written
};

// The #include directives of a source text; commented-out lines are not directives.
std::vector<Include> includes_of(std::string_view source);

// Why `file` (relative to the repository root) must not have this include, or nothing.
std::optional<std::string> violation(std::string_view file, const Include& include);

}  // namespace mlaindex::layering
