// What --rewrite asks for.
#pragma once

#include <string>
#include <vector>

#include "generator/base/result.h"
#include "generator/ptx/rewrite.h"

namespace mlaindex::tools {

// Of --rewrite, for help and messages.
inline constexpr const char* rewrite_items =
    "max-registers=N, evict-first=TENSOR, evict-last=TENSOR, evict-normal=TENSOR (q, k, k_scale), pragma=TEXT, "
    "strip-debug, ptxas=OPTION";

// Each item is one of rewrite_items. Error: invalid_argument with the item and what is allowed.
Result<ptx::RewriteOptions> parse_rewrite(const std::vector<std::string>& items);

}  // namespace mlaindex::tools
