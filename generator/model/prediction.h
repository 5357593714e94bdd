// How long a launch takes and what limits it, from the costs of its math loop. No machine code and no GPU needed.
#pragma once

#include <string_view>
#include <vector>

#include "generator/base/result.h"
#include "generator/model/gpu.h"
#include "generator/model/loop_costs.h"
#include "generator/model/tile_shares.h"
#include "generator/plan.h"
#include "generator/route.h"
#include "generator/spec.h"

namespace mlaindex::model {

enum class Limiter {
  tensor_pipe, issue_slots, fma_pipe, alu_pipe, lsu_pipe, uniform_pipe,
  shared_memory, dram, l2, start_up, imbalance
};

std::string_view limiter_name(Limiter limiter) noexcept;  // "tensor pipe"

// What one resource would take if there were nothing else to wait for.
struct Term {
  Limiter limiter = Limiter::tensor_pipe;
  double microseconds = 0;
};

// Of a tile of keys in one SM, in clocks: what each resource is busy for, and the time from tile to tile.
struct TileClocks {
  double tensor = 0;
  PipeClocks warps;  // of all warps of a quarter of the SM; issue slots at what they cost beside the tensor core
  double shared_memory = 0;
  double time = 0;
};

struct Prediction {
  double microseconds = 0;
  double teraflops = 0;  // 1e12 operations a second, of visible (token, key) pairs and heads without padding
  double gigahertz = 0;  // the SM's clock while it works on tiles
  TileClocks tile;
  TileShares shares;
  std::vector<Term> terms;  // the longest first: the limiter, and what is next to it

  Limiter limiter() const noexcept { return terms.front().limiter; }
};

// Of a launch of `plan` for `spec` whose math loop costs `loop`, in steady state: launches follow each other, and
// L2 keeps what fits it. docs/measurements.md, section "Cycle model", has the error on the H200. Errors: those of
// tile_shares; invalid_argument for a loop that folds nothing or a GPU of another arch.
Result<Prediction> predict(const Spec& spec, const Plan& plan, const LoopCosts& loop, const ProblemSize& size, const Gpu& gpu);

}  // namespace mlaindex::model
