#include "runtime/cuda_device.h"

#include <algorithm>
#include <vector>

#include "generator/base/format.h"
#include "runtime/event_timer.h"
#include "runtime/uploaded_problem.h"

namespace mlaindex {
namespace {

constexpr cuda::Stream default_stream = nullptr;  // orders itself with the synchronous copies

// Milliseconds of one launch, start to end on the GPU.
Result<double> timed_launch(EventTimer& timer, Launcher& launcher, const DeviceProblem& problem) {
  if (Status status = timer.start(default_stream); !status) return status.error();
  if (Status status = launcher.launch(problem, default_stream); !status) return status.error();
  return timer.stop(default_stream);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The first launch's time, or the median of the extra runs.
Result<double> run_and_time(const std::shared_ptr<const Context>& context, Launcher& launcher,
                            const DeviceProblem& problem, int timed_runs) {
  auto timer = EventTimer::create(context);
  if (!timer) return timer.error();
  auto first = timed_launch(*timer, launcher, problem);
  if (!first || timed_runs <= 0) return first;
  std::vector<double> times;
  for (int i = 0; i < timed_runs; ++i) {
    auto time = timed_launch(*timer, launcher, problem);
    if (!time) return time;
    times.push_back(*time);
  }
  return median(std::move(times));
}

}  // namespace

CudaDevice::CudaDevice(std::shared_ptr<const Context> context, Arch arch, KernelStore& store, Overlap overlap)
    : context_(std::move(context)), arch_(arch), store_(store), overlap_(overlap) {}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(int ordinal, KernelStore& store, const Config& config) {
  auto driver = Driver::load(config.cuda_driver_path);
  if (!driver) return driver.error();
  const auto properties = device_properties(**driver, ordinal);
  if (!properties) return properties.error();
  const auto arch =
      arch_of_compute_capability(properties->compute_capability_major, properties->compute_capability_minor);
  if (!arch) return arch.error();
  auto context = Context::open(std::move(*driver), ordinal);
  if (!context) return context.error();
  const Overlap overlap = config.overlap_launches ? Overlap::allowed : Overlap::never;
  return std::unique_ptr<CudaDevice>(new CudaDevice(std::move(*context), *arch, store, overlap));
}

std::string CudaDevice::name() const {
  const DeviceProperties& properties = context_->properties();
  return fmt::format("cuda:{} ({}, {})", properties.ordinal, properties.name, arch_name(arch_));
}

Result<Launcher*> CudaDevice::launcher(const CompiledKernel& kernel) {
  if (const auto found = launchers_.find(kernel.key); found != launchers_.end()) return &found->second;
  auto created = Launcher::create(context_, kernel, overlap_);
  if (!created) return created.error();
  return &launchers_.emplace(kernel.key, std::move(*created)).first->second;
}

Result<ScoreRun> CudaDevice::score(const ScoreProblem& problem, ScoreBuffer scores, const RunOptions& options) {
  if (Status status = validate(problem); !status) return status.error();
  if (Status status = validate(problem, scores); !status) return status.error();
  ScoreRun run{.device = name(), .accumulation = accumulation_model(arch_)};
  if (problem.num_tokens == 0 || problem.num_columns == 0) return run;

  auto lookup = store_.get(spec_for(problem, arch_), options.plan_name, size_of(problem));
  if (!lookup) return lookup.error();
  auto launcher = this->launcher(*lookup->kernel);
  if (!launcher) return launcher.error();
  auto uploaded = UploadedProblem::create(context_, problem, scores, options.guard_zones);
  if (!uploaded) return uploaded.error();
  const auto milliseconds = run_and_time(context_, **launcher, uploaded->device(), options.timed_runs);
  if (!milliseconds) return milliseconds.error();
  if (Status status = uploaded->download_scores(scores); !status) return status.error();
  if (Status status = uploaded->check_guard_zones(); !status) return status.error();
  run.kernel_milliseconds = *milliseconds;
  run.kernel = std::move(*lookup);
  return run;
}

}  // namespace mlaindex
