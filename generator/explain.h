// The plan as a person wants to read it.
#pragma once

#include <string>

#include "generator/plan.h"
#include "generator/spec.h"

namespace mlaindex {

// Several lines: tile, roles with registers, shared and tensor memory maps, why this plan.
std::string explain(const Spec& spec, const Plan& plan);

}  // namespace mlaindex
