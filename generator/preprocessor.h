// Resolves the structural switches of a template: the #if / #elif / #else / #endif of switches the
// plan decides disappear together with the branches not taken.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "generator/base/result.h"

namespace mlaindex {

using Switches = std::map<std::string, int, std::less<>>;

// Conditions are NAME, !NAME, or NAME op NUMBER with op one of == != < <= > >=. A name that is not a
// switch, an unbalanced conditional or any other directive but #pragma unroll is an internal error
// naming the line.
Result<std::string> resolve_switches(std::string_view text, const Switches& switches);

}  // namespace mlaindex
