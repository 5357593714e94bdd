// What the makers of plans share.
#pragma once

#include <string>

#include "generator/plan.h"

namespace mlaindex {

inline constexpr int barrier_bytes = 8;
inline constexpr int swizzle_alignment = 1024;  // keeps the base offset of operand descriptors zero

// Appends a region at the next multiple of `alignment`.
void append(Plan& plan, std::string name, int bytes, int alignment, std::string contents);

// The key ring: plan.key_stages stages of plan.tile_keys keys.
void append_keys(Plan& plan, const Spec& spec);

// Of generator/plan_paged.cpp, for valid specs of paged keys.
Plan sm90_paged(const Spec& spec);
Plan sm90_paged_narrow(const Spec& spec);

}  // namespace mlaindex
