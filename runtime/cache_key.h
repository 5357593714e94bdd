// What a compiled kernel depends on, as labelled fields and as their digest.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "generator/plan.h"
#include "generator/spec.h"

namespace mlaindex {

// The fields are stored in clear beside the kernel, so that a person can see why two keys differ.
struct CacheKey {
  std::vector<std::pair<std::string, std::string>> fields;  // label, value
  std::string hex;  // 64 digits: BLAKE3-256 over the fields, length-prefixed
};

// Of these fields, in this order.
CacheKey make_cache_key(std::vector<std::pair<std::string, std::string>> fields);

// Of one kernel. `compiler` is Compiler::identity(). No paths, no times, no SM count, no sizes of a
// problem: the same request with the same tools has the same key on every machine.
CacheKey kernel_cache_key(const Spec& spec, const Plan& plan, const std::string& compiler);

// Canonical text of every field of a plan, "name=value" separated by spaces, strings quoted.
std::string plan_text(const Plan& plan);

}  // namespace mlaindex
