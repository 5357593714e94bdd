#include "runtime/emulator_device.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "emulator/machine.h"
#include "generator/kernel_arguments.h"
#include "generator/ptx/parser.h"
#include "generator/route.h"
#include "runtime/reference.h"
#include "runtime/tensor_map.h"

namespace mlaindex {
namespace {

// Of the board each arch ships on (H200, B200): only the grid depends on it.
int emulated_sms(Arch arch) noexcept { return arch == Arch::sm_90a ? 132 : 148; }

// An input in emulated global memory. The allocator's alignment is the 16 bytes that TMA needs.
template <class T>
class Input {
 public:
  Input(emulator::GlobalMemory& memory, std::span<const T> values, const char* name)
      : values_(values.begin(), values.end()) {
    if (!values_.empty()) memory.add_read_only(std::as_bytes(std::span(values_)), name);
  }

  std::uint64_t address() const noexcept { return reinterpret_cast<std::uint64_t>(values_.data()); }

 private:
  std::vector<T> values_;
};

void append(std::vector<std::byte>& params, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  params.insert(params.end(), bytes, bytes + size);
}

Status append_map(std::vector<std::byte>& params, const TensorMapParams& map) {
  if (Status status = validate(map); !status) return status;
  const TensorMapBytes bytes = pack(map);
  append(params, bytes.data(), bytes.size());
  return {};
}

std::vector<std::string> role_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const WarpRole& role : plan.roles) names.insert(names.end(), static_cast<std::size_t>(role.num_warps), role.name);
  return names;
}

std::span<const std::int32_t> first_offsets(const ScoreProblem& problem) noexcept {
  return problem.mask == Mask::ranges ? problem.row_start : problem.query_offsets;
}

std::span<const std::int32_t> second_offsets(const ScoreProblem& problem) noexcept {
  return problem.mask == Mask::ranges ? problem.row_end : problem.key_offsets;
}

// Runs the kernel on the problem. Errors: as Device::score.
Result<emulator::RunReport> launch(const CompiledKernel& kernel, const ptx::Module& module, const ScoreProblem& problem,
                                   ScoreBuffer scores, const EmulatorSettings& settings) {
  const Plan& plan = kernel.plan;
  emulator::GlobalMemory memory;
  const Input<std::uint8_t> q(memory, problem.q, "q");
  const Input<std::uint8_t> k(memory, problem.k, "k");
  const Input<float> q_scale(memory, problem.q_scale, "q_scale");
  const Input<float> k_scale(memory, problem.k_scale, "k_scale");
  const bool per_token = problem.mask == Mask::ranges;
  const Input<std::int32_t> first(memory, first_offsets(problem), per_token ? "row_start" : "query_offsets");
  const Input<std::int32_t> second(memory, second_offsets(problem), per_token ? "row_end" : "key_offsets");
  memory.add(scores, "scores");

  std::vector<std::byte> params;
  if (Status status = append_map(params, q_map_params(kernel.spec, plan, q.address(), problem.num_tokens)); !status)
    return status.error();
  if (Status status = append_map(params, k_map_params(kernel.spec, plan, k.address(), problem.num_keys)); !status)
    return status.error();
  if (plan.k_scale_by_tma) {
    if (Status status = append_map(params, k_scale_map_params(plan, k_scale.address(), problem.num_keys)); !status)
      return status.error();
  } else {
    params.resize(params.size() + sizeof(TensorMapBytes));
  }
  const KernelArguments arguments{
      .q_scale = q_scale.address(),
      .k_scale = k_scale.address(),
      .scores = reinterpret_cast<std::uint64_t>(scores.data()),
      .row_start = first.address(),
      .row_end = second.address(),
      .q_scale_stride = problem.q_scale_stride,
      .row_stride = problem.row_stride,
      .num_tokens = static_cast<std::int32_t>(problem.num_tokens),
      .num_keys = static_cast<std::int32_t>(problem.num_keys),
      .num_columns = static_cast<std::int32_t>(problem.num_columns),
      .num_requests = static_cast<std::int32_t>(problem.num_requests()),
      .k_scale_skip = plan.k_scale_by_tma ? k_scale_skip(k_scale.address()) : 0,
  };
  append(params, &arguments, sizeof(arguments));

  const ProblemSize size{static_cast<int>(problem.num_tokens), static_cast<int>(problem.num_keys)};
  emulator::LaunchSpec launch;
  launch.module = &module;
  launch.entry = kernel.kernel_name;
  const LaunchGrid grid = launch_grid(plan, size, emulated_sms(kernel.spec.arch));
  launch.grid.x = static_cast<std::uint32_t>(grid.x);
  launch.grid.y = static_cast<std::uint32_t>(grid.y);
  launch.block.x = static_cast<std::uint32_t>(plan.num_threads);
  launch.dynamic_shared_bytes = static_cast<std::uint32_t>(plan.shared_bytes());
  launch.params = std::move(params);
  launch.memory = &memory;
  launch.warp_roles = role_names(plan);
  launch.barriers = barrier_groups(plan);
  launch.options.trace = static_cast<bool>(settings.on_timeline);
  launch.options.seed = settings.seed;
  launch.options.threads = settings.threads;
  launch.options.arithmetic =
      settings.exact_arithmetic ? emulator::ArithmeticMode::exact : emulator::ArithmeticMode::hardware;
  auto report = emulator::run(launch);
  if (report && settings.on_timeline) settings.on_timeline(emulator::chrome_trace(*report));
  return report;
}

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
  const bool ragged = problem.mask == Mask::ragged || problem.mask == Mask::ragged_causal;
  if (problem.num_keys == 0 || (ragged && problem.num_requests() == 0)) {
    // Nothing is visible, so no kernel runs: the reference fills.
    if (Status status = reference_scores(problem, scores); !status) return status.error();
    return without_launch();
  }

  auto lookup = store_.get(spec_for(problem, arch_), options.plan_name);
  if (!lookup) return lookup.error();
  const CompiledKernel& kernel = *lookup->kernel;
  auto module = module_of(kernel);
  if (!module) return module.error();

  const auto started = std::chrono::steady_clock::now();
  auto report = launch(kernel, **module, problem, scores, settings_);
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
