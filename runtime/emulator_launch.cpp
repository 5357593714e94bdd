#include "runtime/emulator_launch.h"

#include <span>
#include <string>
#include <vector>

#include "generator/kernel_arguments.h"
#include "generator/route.h"
#include "runtime/tensor_map.h"

namespace mlaindex {
namespace {

// Of the board each arch ships on (H200, B200): only the grid depends on it.
int board_sms(Arch arch) noexcept { return arch == Arch::sm_90a ? 132 : 148; }

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

}  // namespace

Result<emulator::RunReport> launch_on_emulator(const CompiledKernel& kernel, const ptx::Module& module,
                                               const ScoreProblem& problem, ScoreBuffer scores,
                                               const EmulatorSettings& settings) {
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

  const int num_sms = settings.num_sms > 0 ? settings.num_sms : board_sms(kernel.spec.arch);
  const ProblemSize size{static_cast<int>(problem.num_tokens), static_cast<int>(problem.num_keys)};
  emulator::LaunchSpec launch;
  launch.module = &module;
  launch.entry = kernel.kernel_name;
  const LaunchGrid grid = launch_grid(plan, size, num_sms);
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
  if (settings.shared_base > 0) launch.options.shared_base = settings.shared_base;
  if (settings.max_steps > 0) launch.options.max_steps = settings.max_steps;
  launch.options.arithmetic =
      settings.exact_arithmetic ? emulator::ArithmeticMode::exact : emulator::ArithmeticMode::hardware;
  auto report = emulator::run(launch);
  if (report && settings.on_timeline) settings.on_timeline(emulator::chrome_trace(*report));
  return report;
}

}  // namespace mlaindex
