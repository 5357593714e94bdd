// Scores by the f64 reference.
#pragma once

#include "runtime/device.h"

namespace mlaindex {

class CpuDevice : public Device {
 public:
  std::string name() const override { return "cpu (f64 reference)"; }
  Result<ScoreRun> score(const ScoreProblem& problem, ScoreBuffer scores, const RunOptions& options) override;
};

}  // namespace mlaindex
