#include "emulator/machine.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "emulator/cluster.h"

namespace mlaindex::emulator {
namespace {

constexpr std::uint32_t kLargestSharedBytes = 232448;  // a CTA's opt-in limit on sm_90a and sm_100a

Error refused(std::string message, std::string hint) {
  return {ErrorCode::invalid_argument, "launch: " + std::move(message), std::move(hint)};
}

std::string text(const Dim3& d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}

Status check_block(const LaunchSpec& spec, const Program& program) {
  const std::uint64_t threads = spec.block.count();
  if (threads < 1 || threads > 1024)
    return refused("a block of " + text(spec.block) + " threads", "allowed: 1 to 1024 in all");
  const auto& required = program.required_threads;
  if (required[0] != 0 && (spec.block.x != required[0] || spec.block.y != required[1] || spec.block.z != required[2]))
    return refused("a block of " + text(spec.block) + " threads",
                   "the kernel requires " + text({required[0], required[1], required[2]}));
  const auto& most = program.max_threads;
  if (most[0] != 0 && threads > std::uint64_t{most[0]} * most[1] * most[2])
    return refused("a block of " + std::to_string(threads) + " threads",
                   "the kernel allows " + std::to_string(std::uint64_t{most[0]} * most[1] * most[2]));
  return {};
}

Status check_params(const LaunchSpec& spec, const Program& program) {
  if (spec.params.size() < program.param_bytes)
    return refused(std::to_string(spec.params.size()) + " bytes of parameters",
                   "the kernel declares " + std::to_string(program.param_bytes));
  if (spec.options.shared_base % 16 != 0)
    return refused("a shared base of " + std::to_string(spec.options.shared_base), "multiples of 16");
  return {};
}

Result<Dim3> resolve_cluster(const LaunchSpec& spec, const Program& program) {
  Dim3 cluster = spec.cluster;
  const auto& required = program.required_cluster;
  if (required[0] != 0) {
    const Dim3 declared{required[0], required[1], required[2]};
    if (cluster.count() != 1 && (cluster.x != declared.x || cluster.y != declared.y || cluster.z != declared.z))
      return refused("clusters of " + text(cluster), "the kernel declares " + text(declared));
    cluster = declared;
  }
  if (cluster.count() < 1 || cluster.count() > 16)
    return refused("clusters of " + text(cluster) + " CTAs", "allowed: 1 to 16 in all");
  if (cluster.count() > 8 && !spec.non_portable_cluster)
    return refused("clusters of " + text(cluster) + " CTAs", "more than 8 CTAs need the non-portable cluster size to be allowed");
  if (spec.grid.x % cluster.x != 0 || spec.grid.y % cluster.y != 0 || spec.grid.z % cluster.z != 0)
    return refused("a grid of " + text(spec.grid) + " CTAs", "it must be whole clusters of " + text(cluster));
  return cluster;
}

// What the launch bounds leave a thread of the 64 K registers of an SM.
std::uint32_t registers_at_launch(const LaunchSpec& spec, const Program& program) {
  if (program.max_registers != 0) return program.max_registers;
  std::uint64_t threads = spec.block.count();
  if (program.max_threads[0] != 0)
    threads = std::uint64_t{program.max_threads[0]} * program.max_threads[1] * program.max_threads[2];
  if (program.required_threads[0] != 0) threads = spec.block.count();
  const std::uint64_t resident = threads * std::max(1u, program.min_ctas);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(65536 / resident / 8 * 8, 248));
}

class Collector {
 public:
  explicit Collector(const Launch& launch) : launch_(launch), counts_(launch.program.instructions.size()) {}

  void add(Cluster& cluster) {
    const std::lock_guard lock(mutex_);
    log_.merge(cluster.faults);
    report_.warp_instructions += cluster.now - 1;
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += cluster.counts[i];
    for (const auto& [key, total] : cluster.stalls) {
      StallTotal& sum = stalls_[key];
      sum.steps += total.steps;
      sum.times += total.times;
    }
    if (!cluster.timeline) return;
    std::vector<TraceEvent> events = cluster.timeline->take();
    std::move(events.begin(), events.end(), std::back_inserter(report_.trace));
  }

  RunReport finish();

 private:
  const Launch& launch_;
  std::mutex mutex_;
  RunReport report_;
  FaultLog log_;
  std::vector<std::uint64_t> counts_;
  std::unordered_map<StallKey, StallTotal, StallKeyHash> stalls_;
};

RunReport Collector::finish() {
  report_.completed = !log_.fatal();
  report_.faults = log_.faults();
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if (counts_[i] != 0 && launch_.program.instructions[i].source != nullptr)
      report_.instructions_by_opcode[launch_.program.instructions[i].source->opcode.text()] += counts_[i];
  for (const auto& [key, total] : stalls_) {
    Stall stall;
    const auto& roles = launch_.spec.warp_roles;
    stall.role = key.warp < roles.size() && !roles[key.warp].empty() ? roles[key.warp] : "warp " + std::to_string(key.warp);
    stall.waits_for = launch_.wait_text(static_cast<WaitKind>(key.kind), key.value);
    stall.line = key.line;
    stall.steps = total.steps;
    stall.times = total.times;
    const auto same = [&](const Stall& s) {
      return s.role == stall.role && s.waits_for == stall.waits_for && s.line == stall.line;
    };
    if (const auto it = std::find_if(report_.stalls.begin(), report_.stalls.end(), same); it != report_.stalls.end()) {
      it->steps += stall.steps;
      it->times += stall.times;
    } else {
      report_.stalls.push_back(std::move(stall));
    }
  }
  for (Stall& stall : report_.stalls) {
    const auto& roles = launch_.spec.warp_roles;
    const auto warps = std::max<std::ptrdiff_t>(1, std::count(roles.begin(), roles.end(), stall.role));
    const double lifetimes =
        static_cast<double>(report_.warp_instructions) * static_cast<double>(warps) * launch_.cluster.count();
    stall.share = lifetimes == 0 ? 0 : static_cast<double>(stall.steps) / lifetimes;
  }
  std::sort(report_.stalls.begin(), report_.stalls.end(), [](const Stall& a, const Stall& b) {
    return std::tie(b.steps, a.line, a.role, a.waits_for) < std::tie(a.steps, b.line, b.role, b.waits_for);
  });
  return std::move(report_);
}

void run_clusters(Launch& launch, Collector& collector) {
  const std::uint64_t count = launch.cluster_grid.count();
  while (!launch.stop) {
    const std::uint64_t index = launch.next_cluster.fetch_add(1);
    if (index >= count) return;
    Cluster cluster(launch, index);
    cluster.run();
    if (cluster.timeline) cluster.timeline->finish();
    collector.add(cluster);
  }
}

}  // namespace

Result<RunReport> run(const LaunchSpec& spec) {
  if (spec.module == nullptr || spec.memory == nullptr) return refused("no module or no memory", "set both");
  Result<Program> program = load_program(*spec.module, spec.entry, spec.options.shared_base);
  if (!program.ok()) return program.error();
  if (Status status = check_block(spec, *program); !status.ok()) return status.error();
  if (Status status = check_params(spec, *program); !status.ok()) return status.error();
  Result<Dim3> cluster = resolve_cluster(spec, *program);
  if (!cluster.ok()) return cluster.error();
  const std::uint64_t shared_bytes = program->dynamic_start - program->shared_base + spec.dynamic_shared_bytes;
  if (shared_bytes > kLargestSharedBytes)
    return refused(std::to_string(shared_bytes) + " bytes of shared memory: " + std::to_string(spec.dynamic_shared_bytes) +
                       " dynamic ones, which the declared alignment puts at " + hex(program->dynamic_start) +
                       ", behind what begins at " + hex(program->shared_base),
                   "at most " + std::to_string(kLargestSharedBytes));

  Launch launch{.spec = spec, .program = *program, .memory = *spec.memory, .cluster = *cluster, .cluster_grid = {}};
  for (const Program::GlobalVariable& v : program->global_variables) {
    const std::span<std::byte> bytes(v.data, v.size);
    if (v.writable) launch.memory.add(bytes, v.name);
    else launch.memory.add_read_only(bytes, v.name);
  }
  launch.cluster_grid = {spec.grid.x / cluster->x, spec.grid.y / cluster->y, spec.grid.z / cluster->z};
  launch.shared_end = program->dynamic_start + spec.dynamic_shared_bytes;
  launch.registers_per_thread = registers_at_launch(spec, *program);
  for (const std::string& target : spec.module->targets) launch.blackwell |= target.starts_with("sm_10");

  Collector collector(launch);
  const std::uint64_t clusters = launch.cluster_grid.count();
  unsigned threads = spec.options.threads != 0 ? spec.options.threads : std::max(1u, std::thread::hardware_concurrency());
  threads = static_cast<unsigned>(std::min<std::uint64_t>(threads, clusters));
  // Grid-wide state changes hands in the order the clusters run in: one thread keeps it repeatable.
  if (program->uses_grid_state) threads = 1;
  {
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < threads; ++i) helpers.emplace_back([&] { run_clusters(launch, collector); });
    run_clusters(launch, collector);
  }
  return collector.finish();
}

}  // namespace mlaindex::emulator
