#include "tests/hardware/case_run.h"

#include <vector>

#include "generator/base/format.h"

namespace mlaindex::hardware {
namespace {

constexpr std::byte poison{0xcb};
constexpr std::int64_t row_gap = 5;  // elements; odd, so that rows are not aligned

using Scores = std::vector<std::byte>;

Result<Scores> poisoned_run(Device& device, const ScoreProblem& problem, const RunOptions& options, ScoreRun& run) {
  Scores scores(score_buffer_bytes(problem), poison);
  auto done = device.score(problem, scores, options);
  if (!done) return done.error();
  run = std::move(*done);
  return scores;
}

}  // namespace

Result<CaseOutcome> run_case(Device& device, tools::Case input, const CaseSettings& settings) {
  ScoreProblem& problem = input.problem;
  problem.row_stride = problem.num_columns + row_gap;
  RunOptions options{.plan_name = settings.plan, .timed_runs = settings.timed_runs, .guard_zones = true};
  ScoreRun run;
  const auto first = poisoned_run(device, problem, options, run);
  if (!first) return first.error();

  const CheckOptions demands{.accumulation = run.accumulation, .bitwise = input.exact, .poison = poison};
  auto report = check_scores(problem, *first, demands);
  if (!report) return report.error();
  CaseOutcome outcome;
  outcome.report = std::move(*report);
  if (run.kernel) outcome.plan = run.kernel->kernel->plan.name;
  if (settings.timed_runs > 0) outcome.kernel_milliseconds = run.kernel_milliseconds;

  options.timed_runs = 0;
  for (int i = 1; i < settings.repeats; ++i) {
    const auto again = poisoned_run(device, problem, options, run);
    if (!again) return again.error();
    if (*again == *first) continue;
    outcome.failure = fmt::format("run {} of {} gave other bits", i + 1, settings.repeats);
    break;
  }
  return outcome;
}

}  // namespace mlaindex::hardware
