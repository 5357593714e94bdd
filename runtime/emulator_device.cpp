#include "runtime/emulator_device.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "generator/base/format.h"
#include "generator/ptx/parser.h"
#include "runtime/emulator_launch.h"
#include "runtime/reference.h"

namespace mlaindex {
namespace {

// Waits by role and reason, whatever the line.
std::vector<WarpWait> waits_of(const emulator::RunReport& report) {
  std::vector<WarpWait> waits;
  for (const emulator::Stall& stall : report.stalls) {
    const auto same = [&](const WarpWait& w) { return w.role == stall.role && w.waits_for == stall.waits_for; };
    auto wait = std::find_if(waits.begin(), waits.end(), same);
    if (wait == waits.end()) wait = waits.insert(waits.end(), {stall.role, stall.waits_for, 0, 0});
    wait->share += stall.share;
    wait->times += stall.times;
  }
  std::stable_sort(waits.begin(), waits.end(), [](const WarpWait& a, const WarpWait& b) { return a.share > b.share; });
  return waits;
}

class EmulatorDevice : public Device {
 public:
  EmulatorDevice(KernelStore& store, Arch arch, EmulatorSettings settings)
      : store_(store), arch_(arch), settings_(std::move(settings)) {}

  bool has_timeline() const noexcept override { return true; }
  std::string name() const override { return fmt::format("emulator ({}, schedule {})", arch_name(arch_), settings_.seed); }
  Result<ScoreRun> score(const ScoreProblem& problem, ScoreBuffer scores, const RunOptions& options) override;

 private:
  Result<const ptx::Module*> module_of(const CompiledKernel& kernel);

  KernelStore& store_;
  Arch arch_;
  EmulatorSettings settings_;
  std::map<std::string, ptx::Module> modules_;  // by kernel key
};

Result<const ptx::Module*> EmulatorDevice::module_of(const CompiledKernel& kernel) {
  if (const auto found = modules_.find(kernel.key); found != modules_.end()) return &found->second;
  auto parsed = ptx::parse(kernel.ptx, kernel.kernel_name + ".ptx");
  if (!parsed) return parsed.error();
  return &modules_.emplace(kernel.key, std::move(*parsed)).first->second;
}

Result<ScoreRun> EmulatorDevice::score(const ScoreProblem& problem, ScoreBuffer scores, const RunOptions& options) {
  if (Status status = validate(problem); !status) return status.error();
  if (Status status = validate(problem, scores); !status) return status.error();
  ScoreRun run{.device = name(),
               .accumulation = settings_.exact_arithmetic ? exact_accumulation : accumulation_model(arch_)};
  const auto without_launch = [&] {
    if (settings_.on_timeline) settings_.on_timeline(emulator::chrome_trace({}));
    return run;
  };
  if (problem.num_tokens == 0 || problem.num_columns == 0) return without_launch();
  const bool of_requests = problem.layout == Layout::paged || is_ragged(problem.mask);
  if (problem.num_keys == 0 || (of_requests && problem.num_requests() == 0)) {
    // Nothing is visible, so no kernel runs: the reference fills.
    if (Status status = reference_scores(problem, scores); !status) return status.error();
    return without_launch();
  }

  auto lookup = store_.get(spec_for(problem, arch_), options.plan_name, size_of(problem));
  if (!lookup) return lookup.error();
  const CompiledKernel& kernel = *lookup->kernel;
  auto module = module_of(kernel);
  if (!module) return module.error();

  const auto started = std::chrono::steady_clock::now();
  auto report = launch_on_emulator(kernel, **module, problem, scores, settings_);
  if (!report) return report.error();
  if (!report->clean()) {
    return Error{ErrorCode::internal, "the emulator found a fault in the kernel:\n" + report->text(),
                 fmt::format("the same schedule repeats it: seed {}", settings_.seed)};
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
  run.evidence = fmt::format("{} warp instructions of the kernel's own PTX in {:.1f} s: no race, no hazard, no stray access",
                             report->warp_instructions, elapsed.count());
  run.waits = waits_of(*report);
  run.kernel = std::move(*lookup);
  return run;
}

}  // namespace

EmulatorFactory emulator_factory(EmulatorSettings settings) {
  return [settings](KernelStore& store, Arch arch) -> Result<std::unique_ptr<Device>> {
    return std::unique_ptr<Device>(std::make_unique<EmulatorDevice>(store, arch, settings));
  };
}

}  // namespace mlaindex
