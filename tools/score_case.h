// One case through a device: scores, their check, and what it took.
#pragma once

#include <optional>
#include <string>

#include "generator/base/result.h"
#include "runtime/check.h"
#include "runtime/device.h"
#include "tools/aligned_bytes.h"
#include "tools/case_file.h"
#include "tools/output.h"
#include "tools/score_settings.h"

namespace mlaindex::tools {

struct ScoredCase {
  AlignedBytes scores;  // slots that no token sees are zero, or -inf when filled
  ScoreRun run;         // the first; its kernel time is the median of all runs
  double score_milliseconds = 0;  // first run: copies, kernel lookup and launch
  double check_milliseconds = 0;
  std::int64_t runs_that_differ = 0;
  std::optional<CheckReport> against_reference;  // when checked
  std::optional<CheckReport> against_file;       // when checked and the file has scores

  bool passed() const noexcept;
};

// Errors are those of the device, out_of_memory, or of the problem; a failed check is none.
Result<ScoredCase> score_case(Device& device, const Case& input, const ScoreSettings& settings);

// The rows "times", "shown", "stalls", "error" and "verdict".
void print_scored_case(Output& output, const Case& input, const ScoredCase& scored);
Json scored_case_json(const ScoredCase& scored);

}  // namespace mlaindex::tools
