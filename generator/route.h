// Which plan for which spec and problem size, and how many parts the keys are split into.
#pragma once

#include <string>

#include "generator/base/result.h"
#include "generator/plan.h"
#include "generator/spec.h"

namespace mlaindex {

struct ProblemSize {
  int num_tokens = 0;
  int num_keys = 0;
};

// The default plan of the spec's arch, checked.
Result<Plan> route(const Spec& spec);

// Parts into which the keys of one token block are split over CTAs, so that the token blocks fill
// the machine. At least 1. Depends on sizes and the SM count only, and never changes a score:
// parts are disjoint ranges of keys.
int key_splits(const Plan& plan, const ProblemSize& size, int num_sms) noexcept;

}  // namespace mlaindex
