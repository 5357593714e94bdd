#include "tools/bench/bench_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/uploaded_problem.h"
#include "tools/score_case.h"

namespace mlaindex::tools {
namespace {

Error at(const BenchShape& shape, const Error& error) {
  return {error.code, fmt::format("{} {}: {}", bench_family_name(shape.family), to_string(shape), error.message),
          error.hint};
}

Spec spec_of(const BenchShape& shape, const BenchModel& model, Arch arch) {
  const bool paged = shape.family == BenchFamily::decode;
  return {.arch = arch,
          .num_heads = model.num_heads,
          .depth = model.depth,
          .mask = bench_mask(shape.family),
          .score_type = model.score_type,
          .fill = model.fill,
          .layout = paged ? Layout::paged : Layout::contiguous,
          .page_size = paged ? model.page_size : 0,
          .fold = model.fold};
}

}  // namespace

Result<KernelLookup> BenchRun::kernel_for(const BenchShape& shape, const BenchModel& model, const ProblemSize& size) {
  return kernels_.get(spec_of(shape, model, device_.arch()), {}, size);
}

Result<bool> BenchRun::check(const BenchShape& shape, const BenchModel& model) {
  constexpr std::int64_t most = 2147483647;
  const auto clipped = [most](std::int64_t value) { return static_cast<int>(std::min(value, most)); };
  const ProblemSize nominal{clipped(shape.requests * shape.tokens), clipped(shape.context),
                            shape.family == BenchFamily::decode ? clipped(shape.requests) : 0};
  const Result<KernelLookup> lookup = kernel_for(shape, model, nominal);
  if (!lookup) return at(shape, lookup.error());
  const Result<bool> passed = check_kernel(*lookup->kernel, shape, model);
  if (!passed) return at(shape, passed.error());
  return passed;
}

Result<bool> BenchRun::check_kernel(const CompiledKernel& kernel, const BenchShape& shape, const BenchModel& model) {
  if (checked_.insert(kernel.key).second) {
    const Result<Case> small = make_check_case(shape, model, settings_.seed);
    if (!small) return small.error();
    const Result<ScoredCase> scored =
        score_case(device_, *small, {.plan = kernel.plan.name, .repeats = 1, .check = true});
    if (!scored) return scored.error();
    checks_.push_back({kernel.kernel_name, kernel.plan.name, scored->passed(), summary(*scored->against_reference)});
  }
  return std::all_of(checks_.begin(), checks_.end(), [](const BenchCheck& check) { return check.passed; });
}

Result<BenchResult> BenchRun::time(GpuStopwatch& stopwatch, const BenchShape& shape, const BenchModel& model) {
  const Result<Case> data = make_bench_case(shape, model, settings_.seed);
  if (!data) return at(shape, data.error());
  const ScoreProblem& problem = data->problem;
  const Result<KernelLookup> lookup = kernel_for(shape, model, size_of(problem));
  if (!lookup) return at(shape, lookup.error());
  const CompiledKernel& kernel = *lookup->kernel;
  const Result<bool> passed = check_kernel(kernel, shape, model);
  if (!passed) return at(shape, passed.error());
  if (!*passed) return at(shape, {ErrorCode::internal, "its kernel fails the check: " + checks_.back().summary, ""});

  const AlignedBytes scores(score_buffer_bytes(problem));
  if (scores.size() != score_buffer_bytes(problem)) {
    return at(shape, {ErrorCode::out_of_memory, fmt::format("no host memory for {} bytes of scores", score_buffer_bytes(problem)),
                      "ask for a smaller shape"});
  }
  const auto uploaded = UploadedProblem::create(device_.context(), problem, {scores.data(), scores.size()}, false);
  if (!uploaded) return at(shape, uploaded.error());
  const Result<Launcher*> launcher = device_.launcher(kernel);
  if (!launcher) return at(shape, launcher.error());
  const Result<LaunchTimes> times = time_launches(stopwatch, **launcher, uploaded->device(), settings_.samples);
  if (!times) return at(shape, times.error());
  return BenchResult{shape, model, kernel.kernel_name, kernel.plan.name, work_of(problem), *times};
}

}  // namespace mlaindex::tools
