#include "tools/bench/kernel_checks.h"

#include <algorithm>

#include "generator/base/format.h"
#include "tools/score_case.h"

namespace mlaindex::tools {

Result<bool> KernelChecks::check(const CompiledKernel& kernel, const BenchShape& shape, const BenchModel& model) {
  if (checked_.insert(kernel.key).second) {
    const Result<Case> small = make_check_case(shape, model, seed_);
    if (!small) return small.error();
    const Result<ScoredCase> scored =
        score_case(device_, *small, {.plan = kernel.plan.name, .repeats = 1, .check = true});
    if (!scored) return scored.error();
    results_.push_back({kernel.kernel_name, kernel.plan.name, scored->passed(), summary(*scored->against_reference)});
  }
  return std::all_of(results_.begin(), results_.end(), [](const BenchCheck& check) { return check.passed; });
}

void print_checks(Output& output, const std::vector<BenchCheck>& checks) {
  Json json = Json::array();
  for (const BenchCheck& check : checks) {
    output.row("check", fmt::format("{}: {}, plan {}: {}", check.passed ? "PASS" : "FAIL", check.kernel, check.plan, check.summary));
    json.push_back({{"kernel", check.kernel}, {"plan", check.plan}, {"passed", check.passed}, {"summary", check.summary}});
  }
  output.set("checks", std::move(json));
}

}  // namespace mlaindex::tools
