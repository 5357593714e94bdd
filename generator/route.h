// Which plan for which spec, and which grid for which problem.
#pragma once

#include <string>

#include "generator/base/result.h"
#include "generator/plan.h"
#include "generator/spec.h"

namespace mlaindex {

struct ProblemSize {
  int num_tokens = 0;
  int num_keys = 0;      // paged: of the longest request that the block table has room for
  int num_requests = 0;  // paged only
};

// The plan that is expected to be the fastest for the spec and a problem of that size; the default one of
// the spec where the size is not known (all zero). Checked. Errors: those of validate(spec).
Result<Plan> route(const Spec& spec, const ProblemSize& size = {});

// CTAs of a launch. Of a persistent plan: {workers, 1}, one for each slot of the GPU but no more than
// there are tiles. Of others: {token blocks, key parts}; the keys of a block are split over CTAs where
// the blocks alone underfill the machine. At least {1, 1}. Depends on sizes and the SM count only, and
// never changes a score: workers and parts have disjoint keys.
struct LaunchGrid {
  int x = 1;
  int y = 1;
};
LaunchGrid launch_grid(const Plan& plan, const ProblemSize& size, int num_sms) noexcept;

}  // namespace mlaindex
