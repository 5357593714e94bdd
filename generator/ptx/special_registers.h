// The predefined registers of PTX.
#pragma once

#include <string_view>

namespace mlaindex::ptx {

// True for "%tid.x", "%clock64", "WARP_SZ" and the like.
bool is_special_register(std::string_view name) noexcept;

}  // namespace mlaindex::ptx
