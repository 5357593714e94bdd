// The f64 reference on the CPU: the one definition of what a score is.
//
//   dot = sum_d q[t, h, d] * k[k, d]          exact: f64 holds any such sum of e4m3 products
//   score = (sum_h relu(dot) * q_scale[t, h]) * k_scale[k]      f64, heads in order, from +0
//
// relu(x) is x where x > 0, +0 where x <= 0, and NaN where x is NaN.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "runtime/error_bound.h"
#include "runtime/score_problem.h"

namespace mlaindex {

// The exact scores of one token's visible keys. The spans live as long as the visitor's call.
struct ReferenceRow {
  std::int64_t token = 0;
  KeyRange visible;
  std::span<const double> scores;  // [visible.size()]
  std::span<const double> bounds;  // [visible.size()]: see score_bound; empty under exact_accumulation
};

using ReferenceVisitor = std::function<void(const ReferenceRow&)>;

// Calls `visit` once for every token, empty rows included, in no given order and from several
// threads at once. num_threads = 0: one per hardware thread. Bounds are those of `model`. Errors:
// those of validate(problem), out_of_memory.
Status for_each_reference_row(const ScoreProblem& problem, const AccumulationModel& model,
                              const ReferenceVisitor& visit, int num_threads = 0);

// Writes the problem's scores, rounded to nearest even, by the contract's rules: visible slots, and
// under Fill::negative_infinity every other slot of [0, num_columns); nothing else.
Status reference_scores(const ScoreProblem& problem, ScoreBuffer scores, int num_threads = 0);

}  // namespace mlaindex
