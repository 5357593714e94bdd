#include "tools/bench/bench_run.h"

#include <algorithm>

#include "generator/base/format.h"
#include "tools/aligned_bytes.h"

namespace mlaindex::tools {

Error at(const BenchShape& shape, const Error& error) {
  return {error.code, fmt::format("{} {}: {}", bench_family_name(shape.family), to_string(shape), error.message),
          error.hint};
}

Result<UploadedProblem> upload(const CudaDevice& device, const ScoreProblem& problem) {
  const AlignedBytes scores(score_buffer_bytes(problem));
  if (scores.size() != score_buffer_bytes(problem)) {
    return Error{ErrorCode::out_of_memory, fmt::format("no host memory for {} bytes of scores", score_buffer_bytes(problem)),
                 "ask for a smaller shape"};
  }
  return UploadedProblem::create(device.context(), problem, {scores.data(), scores.size()}, false);
}

Result<KernelLookup> BenchRun::kernel_for(const BenchShape& shape, const BenchModel& model, const ProblemSize& size) {
  return kernels_.get(bench_spec(shape, model, device_.arch()), {}, size);
}

Result<bool> BenchRun::check(const BenchShape& shape, const BenchModel& model) {
  constexpr std::int64_t most = 2147483647;
  const auto clipped = [most](std::int64_t value) { return static_cast<int>(std::min(value, most)); };
  const ProblemSize nominal{clipped(shape.requests * shape.tokens), clipped(shape.context),
                            shape.family == BenchFamily::decode ? clipped(shape.requests) : 0};
  const Result<KernelLookup> lookup = kernel_for(shape, model, nominal);
  if (!lookup) return at(shape, lookup.error());
  const Result<bool> passed = checks_.check(*lookup->kernel, shape, model);
  if (!passed) return at(shape, passed.error());
  return passed;
}

Result<BenchResult> BenchRun::time(GpuStopwatch& stopwatch, const BenchShape& shape, const BenchModel& model) {
  const Result<Case> data = make_bench_case(shape, model, settings_.seed);
  if (!data) return at(shape, data.error());
  const ScoreProblem& problem = data->problem;
  const Result<KernelLookup> lookup = kernel_for(shape, model, size_of(problem));
  if (!lookup) return at(shape, lookup.error());
  const CompiledKernel& kernel = *lookup->kernel;
  const Result<bool> passed = checks_.check(kernel, shape, model);
  if (!passed) return at(shape, passed.error());
  if (!*passed) return at(shape, {ErrorCode::internal, "its kernel fails the check: " + checks().back().summary, ""});

  const auto uploaded = upload(device_, problem);
  if (!uploaded) return at(shape, uploaded.error());
  const Result<Launcher*> launcher = device_.launcher(kernel);
  if (!launcher) return at(shape, launcher.error());
  const Result<LaunchTimes> times = time_launches(stopwatch, **launcher, uploaded->device(), settings_.samples);
  if (!times) return at(shape, times.error());
  return BenchResult{shape, model, kernel.kernel_name, kernel.plan.name, work_of(problem), *times};
}

}  // namespace mlaindex::tools
