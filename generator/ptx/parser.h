// PTX text to a Module.
#pragma once

#include <string_view>

#include "generator/base/result.h"
#include "generator/ptx/module.h"

namespace mlaindex::ptx {

// `name` is what diagnostics call the text. A trailing NUL (as in NVRTC's buffer) is accepted.
// Errors: invalid_file, with line, column and a caret under the offending token.
Result<Module> parse(std::string_view text, std::string_view name = "ptx");

}  // namespace mlaindex::ptx
