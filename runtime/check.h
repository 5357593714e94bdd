// Scores against the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/error_bound.h"
#include "runtime/score_problem.h"

namespace mlaindex {

struct CheckOptions {
  AccumulationModel accumulation = exact_accumulation;

  // Demand the reference's very bits: for data on which every arch is exact. NaNs need not match in
  // their payload.
  bool bitwise = false;

  // What every byte of the buffer was before the run; then slots that the contract does not allow
  // to be written must still hold it.
  std::optional<std::byte> poison = std::nullopt;
};

struct ScoreMismatch {
  std::int64_t token = 0;
  std::int64_t column = 0;
  double got = 0;
  double want = 0;
  double bound = 0;    // largest |got - want| allowed, rounding to the output type included
  std::string reason;  // "beyond the bound", "not -inf outside the visible range", ...
};

struct CheckReport {
  std::int64_t scores_checked = 0;     // visible slots
  std::int64_t fills_checked = 0;      // slots that must be -inf
  std::int64_t untouched_checked = 0;  // slots that must hold the poison
  std::int64_t mismatches = 0;
  double max_absolute_error = 0;  // over visible slots with a finite reference
  double max_error_to_bound = 0;  // 1: at the bound
  std::optional<ScoreMismatch> first_mismatch;  // by token, then column

  bool passed() const noexcept { return mismatches == 0; }
};

// "ok: 8192 scores, largest error 1.2e-3, 0.31 of its bound", or the first mismatch.
std::string summary(const CheckReport& report);

// Compares every slot of the buffer. invalid_argument when the problem or the buffer's size is
// wrong; a failed comparison is a report, not an error.
Result<CheckReport> check_scores(const ScoreProblem& problem, std::span<const std::byte> scores,
                                 const CheckOptions& options, int num_threads = 0);

}  // namespace mlaindex
