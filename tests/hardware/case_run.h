// One case file on a GPU, in one score type and fill.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/check.h"
#include "runtime/device.h"
#include "tools/case_file.h"

namespace mlaindex::hardware {

struct CaseSettings {
  int repeats = 20;     // runs whose buffers must have the same bits, poison included
  int timed_runs = 0;   // more than 0: time the kernel as well
  std::string plan;     // empty: the default
};

struct CaseOutcome {
  std::string plan;
  CheckReport report;
  std::optional<std::string> failure;           // besides a failed report: repeats that differ, say
  std::optional<double> kernel_milliseconds;    // median

  bool passed() const noexcept { return report.passed() && !failure; }
};

// Rows of scores get a gap, so that they start at every alignment; every buffer gets guard zones; the
// scores are poisoned before each run. Exact cases must equal the reference bitwise, others must be
// within the error bound of the device's arch.
Result<CaseOutcome> run_case(Device& device, tools::Case input, const CaseSettings& settings);

}  // namespace mlaindex::hardware
