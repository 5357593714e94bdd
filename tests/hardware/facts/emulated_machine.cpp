#include "tests/hardware/facts/emulated_machine.h"

#include <cstring>
#include <memory>

#include "emulator/machine.h"
#include "generator/base/format.h"
#include "generator/ptx/parser.h"

namespace mlaindex::hardware {
namespace {

constexpr std::uint64_t num_schedules = 4;

// A buffer with a GPU allocation's alignment.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::size_t bytes) : storage_(bytes + 256), bytes_(bytes) {}
  std::byte* data() {
    void* at = storage_.data();
    std::size_t space = storage_.size();
    return static_cast<std::byte*>(std::align(256, bytes_, at, space));
  }
  std::span<std::byte> span() { return {data(), bytes_}; }
  std::uint64_t address() { return reinterpret_cast<std::uint64_t>(data()); }

 private:
  Bytes storage_;
  std::size_t bytes_;
};

void append(Bytes& to, const void* data, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  to.insert(to.end(), from, from + bytes);
}

Result<Bytes> run_schedule(const ptx::Module& module, const Experiment& experiment, std::uint64_t seed) {
  AlignedBuffer input(experiment.input.size()), output(experiment.output_bytes);
  std::copy(experiment.input.begin(), experiment.input.end(), input.data());
  emulator::GlobalMemory memory;
  if (!experiment.input.empty()) memory.add_read_only(input.span(), "in");
  memory.add(output.span(), "out");

  TensorMapBytes map{};
  if (experiment.map) {
    TensorMapParams params = *experiment.map;
    params.address += experiment.map_over_output ? output.address() : input.address();
    if (Status status = validate(params); !status) return status.error();
    map = pack(params);
  }
  const KernelSettings settings = kernel_settings(experiment);
  const std::uint64_t pointers[] = {input.address(), output.address()};
  emulator::LaunchSpec launch;
  append(launch.params, map.data(), map.size());
  append(launch.params, pointers, sizeof pointers);
  append(launch.params, &settings, sizeof settings);
  launch.module = &module;
  launch.entry = "fact";
  launch.grid.x = experiment.ctas;
  launch.block.x = experiment.threads;
  launch.dynamic_shared_bytes = experiment.shared_bytes;
  launch.non_portable_cluster = experiment.non_portable_cluster;
  launch.memory = &memory;
  launch.options.seed = seed;
  launch.options.arithmetic = emulator::ArithmeticMode::hardware;
  const Result<emulator::RunReport> report = emulator::run(launch);
  if (!report) return report.error();
  if (!report->clean()) {
    const std::string what = report->faults.empty() ? "did not complete" : report->faults.front().text();
    return Error{ErrorCode::internal, what, fmt::format("schedule {}", seed)};
  }
  return Bytes(output.data(), output.data() + experiment.output_bytes);
}

}  // namespace

Result<Bytes> EmulatedMachine::run(const Experiment& experiment) {
  const Result<const CompiledKernel*> kernel = kernels_.get(experiment);
  if (!kernel) return kernel.error();
  auto module = modules_.find(*kernel);
  if (module == modules_.end()) {
    Result<ptx::Module> parsed = ptx::parse((*kernel)->ptx, experiment.kernel + ".ptx");
    if (!parsed) return parsed.error();
    module = modules_.emplace(*kernel, std::move(*parsed)).first;
  }
  Result<Bytes> first = run_schedule(module->second, experiment, 0);
  for (std::uint64_t seed = 1; first.ok() && seed < num_schedules; ++seed) {
    Result<Bytes> other = run_schedule(module->second, experiment, seed);
    if (!other) return other;
    if (*other != *first)
      return Error{ErrorCode::internal, fmt::format("schedule {} gives another result than schedule 0", seed), ""};
  }
  return first;
}

}  // namespace mlaindex::hardware
