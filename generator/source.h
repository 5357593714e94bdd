// From a plan to one readable CUDA file: templates inlined, structural switches resolved, the plan
// as constants on top. Pure: the same spec and plan give the same text, byte for byte.
#pragma once

#include <string>
#include <string_view>

#include "generator/base/digest.h"
#include "generator/base/result.h"
#include "generator/plan.h"
#include "generator/spec.h"

namespace mlaindex {

// Of this library, as printed in banners: "0.1.0".
std::string_view generator_version() noexcept;

Result<std::string> emit_source(const Spec& spec, const Plan& plan);

// Over every embedded template, path and text. Part of the cache key.
Digest templates_digest();

}  // namespace mlaindex
