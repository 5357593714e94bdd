#include <cstdio>
#include <mutex>
#include <vector>

#include "generator/base/format.h"
#include "tests/kernels/compiled.h"
#include "tests/kernels/spec_product.h"
#include "tests/parallel.h"
#include "tests/sample.h"

using namespace mlaindex;

namespace {

void check_sweep(const std::vector<SpecOfPlan>& items) {
  const std::unique_ptr<Compiler> compiler = make_nvrtc_compiler(config_from_environment());
  const Stopwatch watch;
  std::mutex mutex;
  std::vector<std::string> failures;
  in_parallel(items.size(), [&](std::size_t i) {
    const auto& [spec, plan] = items[i];
    const Result<ptx::Artifact> kernel = compiled(*compiler, spec, make_plan(spec, plan).value());
    const std::lock_guard lock(mutex);
    if (!kernel) failures.push_back(to_string(spec) + " plan=" + plan + ": " + kernel.error().text());
  });

  fmt::print("sweep: {} of {} kernels compile without a warning or a spill{}\n", items.size() - failures.size(), items.size(),
             watch.text());
  std::fflush(stdout);
  for (const std::string& failure : failures) UNSCOPED_INFO(failure);
  CHECK(failures.empty());
}

}  // namespace

TEST_CASE("specs of every plan compile without a warning and pass the gate: no spills", "[sweep]") {
  std::vector<SpecOfPlan> items = short_spec_product();  // those of a bf16 fold pass the gate before they run
  CHECK(items.size() == 275);
  keep_sample(items);
  check_sweep(items);
}

TEST_CASE("every spec of every plan compiles without a warning and passes the gate: no spills", "[.full]") {
  CHECK(spec_product().size() == 5 * 384);
  check_sweep(spec_product());
}
