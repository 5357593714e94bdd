#include "runtime/cpu_device.h"

#include "runtime/reference.h"

namespace mlaindex {

Result<ScoreRun> CpuDevice::score(const ScoreProblem& problem, ScoreBuffer scores, const RunOptions&) {
  if (Status status = reference_scores(problem, scores); !status) return status.error();
  return ScoreRun{.device = name(), .accumulation = exact_accumulation};
}

}  // namespace mlaindex
