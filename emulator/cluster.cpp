#include "emulator/cluster.h"

#include <algorithm>
#include <cstring>

namespace mlaindex::emulator {
namespace {

// "the barrier at 0x25C08", with its name where there is one.
std::string barrier_at(const Cta& cta, std::uint32_t address) {
  const std::string name = cta.cluster.launch.barrier_text(address);
  const bool named = !name.starts_with("mbarrier ");
  return "the barrier at " + hex(address) + (named ? " (" + name + ")" : "");
}

std::string describe(const Wait& wait, Cta& cta) {
  switch (wait.kind) {
    case WaitKind::none: return "nothing";
    case WaitKind::lanes: return "lanes " + hex(wait.value) + " of its warp";
    case WaitKind::mbarrier: {
      const Mbarrier* barrier = cta.mbarrier(wait.value);
      return "parity " + std::to_string(wait.detail) + " of " + barrier_at(cta, wait.value) + ", an " +
             (barrier != nullptr ? barrier->describe() : std::string("uninitialised mbarrier"));
    }
    case WaitKind::named_barrier: {
      const NamedBarrier& b = cta.named[wait.value % 16];
      return "named barrier " + std::to_string(wait.value) + " (" + std::to_string(b.arrived) + " of " +
             std::to_string(b.whole_cta ? cta.live_threads() : b.expected) + " threads)";
    }
    case WaitKind::cluster_barrier: return "the cluster barrier";
    case WaitKind::tensor_loads: return "its tcgen05.ld";
    case WaitKind::tensor_stores: return "its tcgen05.st";
    case WaitKind::wgmma_groups: return "its wgmma groups";
    case WaitKind::bulk_groups: return "its bulk groups";
    case WaitKind::tensor_allocation: return std::to_string(wait.value) + " free columns of tensor memory";
    case WaitKind::register_pool:
      return std::to_string(wait.value) + " registers a thread; the pool has " + std::to_string(cta.free_registers()) +
             " free in all";
  }
  return {};
}

bool moves_data(const AsyncOperation& operation) noexcept { return std::strcmp(operation.engine, "arrive") != 0; }

}  // namespace

AccumulationModel Launch::accumulation(bool fp8, bool fp4) const noexcept {
  if (spec.options.arithmetic == ArithmeticMode::exact) return kExact;
  if (blackwell) return fp4 ? kBlackwellFp4 : kBlackwell;
  return fp8 ? kHopperFp8 : kHopper16Bit;
}

std::string Launch::barrier_text(std::uint32_t address) const {
  const std::uint32_t offset = address & ((1u << kRankShift) - 1);
  std::string name;
  if (offset >= program.dynamic_start) name = barrier_name(spec.barriers, offset - program.dynamic_start);
  return name.empty() ? "mbarrier " + hex(address) : name;
}

std::string Launch::wait_text(WaitKind kind, std::uint32_t value) const {
  switch (kind) {
    case WaitKind::none: return "nothing";
    case WaitKind::lanes: return "lanes of its warp";
    case WaitKind::mbarrier: return barrier_text(value);
    case WaitKind::named_barrier: return value == 0 ? "named barrier" : "named barrier " + hex(value);
    case WaitKind::cluster_barrier: return "cluster barrier";
    case WaitKind::tensor_loads: return "tcgen05.ld";
    case WaitKind::tensor_stores: return "tcgen05.st";
    case WaitKind::wgmma_groups: return "wgmma group";
    case WaitKind::bulk_groups: return "bulk group";
    case WaitKind::tensor_allocation: return "tensor memory";
    case WaitKind::register_pool: return "register pool";
  }
  return {};
}

Cluster::Cluster(Launch& owner, std::uint64_t cluster_index)
    : launch(owner), index(cluster_index), schedule(owner.spec.options.seed, cluster_index),
      async(schedule, now, changes), counts(owner.program.instructions.size()) {
  const Dim3& shape = launch.cluster;
  const std::uint32_t bx = static_cast<std::uint32_t>(index % launch.cluster_grid.x) * shape.x;
  const std::uint32_t by = static_cast<std::uint32_t>(index / launch.cluster_grid.x % launch.cluster_grid.y) * shape.y;
  const std::uint32_t bz =
      static_cast<std::uint32_t>(index / (std::uint64_t{launch.cluster_grid.x} * launch.cluster_grid.y)) * shape.z;
  for (std::uint32_t rank = 0; rank < shape.count(); ++rank)
    ctas.push_back(std::make_unique<Cta>(
        *this, rank,
        std::array<std::uint32_t, 3>{bx + rank % shape.x, by + rank / shape.x % shape.y, bz + rank / (shape.x * shape.y)}));
  if (!launch.spec.options.trace) return;
  timeline.emplace(*this);
  async.observe([this](const AsyncOperation& operation, std::uint64_t) {
    timeline->note_completion(operation);
    timeline->note_phases();
  });
}

Cta* Cluster::cta_of(std::uint32_t cluster_address) noexcept {
  const std::uint32_t rank = cluster_address >> kRankShift;
  return rank < ctas.size() ? ctas[rank].get() : nullptr;
}

std::string Cluster::role(std::uint32_t warp) const {
  return warp < launch.spec.warp_roles.size() ? launch.spec.warp_roles[warp] : std::string();
}

void Cluster::note_stall(const Warp& warp, const Fragment& f) {
  const std::uint32_t value = f.wait.kind == WaitKind::mbarrier || f.wait.kind == WaitKind::named_barrier ? f.wait.value : 0;
  StallTotal& total = stalls[{warp.index, warp.current->line, static_cast<std::uint32_t>(f.wait.kind), value}];
  total.steps += now - f.blocked_since;
  ++total.times;
  if (timeline) timeline->note_wait(warp, f);
}

// The warp to run next; nullptr when none can.
Warp* Cluster::choose(const std::vector<Warp*>& warps, std::vector<std::uint64_t>& priorities) {
  Random& random = schedule.random();
  const auto count = static_cast<std::uint32_t>(warps.size());
  if (schedule.by_priority() && schedule.priority_change()) priorities[random.below(count)] = random.next();
  const bool fair = !schedule.by_priority() || schedule.fair_turn();
  const std::uint32_t start = random.below(count);
  Warp* chosen = nullptr;
  std::uint64_t best = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t w = (start + i) % count;
    if (warps[w]->done() || !warps[w]->runnable()) continue;
    if (fair) return warps[w];
    if (chosen == nullptr || priorities[w] > best) {
      chosen = warps[w];
      best = priorities[w];
    }
  }
  return chosen;
}

void Cluster::run() {
  std::vector<Warp*> warps;
  for (const auto& cta : ctas)
    for (const auto& warp : cta->warps) warps.push_back(warp.get());
  std::vector<std::uint64_t> priorities(warps.size());
  for (std::uint64_t& p : priorities) p = schedule.random().next();
  while (!launch.stop) {
    Warp* chosen = choose(warps, priorities);
    if (chosen != nullptr) {
      chosen->run(schedule.slice());
      async.tick();
    } else if (std::all_of(warps.begin(), warps.end(), [](const Warp* w) { return w->done(); })) {
      check_exit();
      return;
    } else if (!release_or_complete(warps)) {
      report_deadlock();
      return;
    }
    if (now > launch.spec.options.max_steps) {
      ctas[0]->report(FaultKind::step_limit, true, chosen,
                      "stopped after " + std::to_string(now) + " warp instructions of one cluster");
      return;
    }
  }
}

// No warp can run: complete one asynchronous operation, or let lanes go on that fell behind.
bool Cluster::release_or_complete(const std::vector<Warp*>& warps) {
  if (schedule.random().below(4) != 0 && async.force_one()) return true;
  bool released = false;
  for (Warp* warp : warps) released = warp->release_held() || released;
  return released || async.force_one();
}

void Cluster::report_deadlock() {
  std::string message = "no warp can go on";
  bool diverged = false;
  const Warp* first = nullptr;
  for (const auto& cta : ctas)
    for (const auto& warp : cta->warps)
      for (const Fragment& f : warp->fragments()) {
        if (first == nullptr) first = warp.get();
        const Instruction& in = launch.program.instructions[f.pc];
        diverged = diverged || f.wait.kind == WaitKind::lanes;
        message += "; ";
        if (ctas.size() > 1) message += "cta " + std::to_string(cta->rank) + " ";
        message += "warp " + std::to_string(warp->index);
        if (const std::string name = role(warp->index); !name.empty()) message += " (" + name + ")";
        if (f.mask != kAllLanes) message += " lanes " + hex(f.mask);
        message += " at line " + std::to_string(in.line) + " waits for " + describe(f.wait, *cta);
      }
  const Fragment& f = first->fragments().front();
  ctas[0]->report(diverged ? FaultKind::aligned_divergence : FaultKind::deadlock, true, first, std::move(message),
                  launch.program.instructions[f.pc].line);
}

// Everything a CTA owns must be at rest when its last thread leaves.
void Cluster::check_exit() {
  while (const AsyncOperation* operation = async.first()) {
    if (moves_data(*operation)) {
      Cta& cta = *ctas[operation->cta];
      cta.report(FaultKind::unfinished_work, false, nullptr,
                 std::string(operation->engine) + " of warp " + std::to_string(operation->warp) +
                     " was not waited for before the CTA ended",
                 operation->line);
    }
    async.force(operation->id);
  }
  for (const auto& cta : ctas) {
    cta->check_register_requests();
    const auto waited = [](const auto& warp) { return warp->earlier_launches_done != 0; };
    if (launch.program.waits_for_launches && std::none_of(cta->warps.begin(), cta->warps.end(), waited))
      cta->report(FaultKind::launch_overlap, false, nullptr,
                  "the CTA ended without waiting for earlier launches: the next one, which waits for this one, could begin "
                  "before those are complete");
    if (const std::uint32_t columns = cta->tensor.allocated_columns(); columns != 0)
      cta->report(FaultKind::tensor_memory_leak, false, nullptr,
                  std::to_string(columns) + " columns of tensor memory were not deallocated");
    for (const auto& [address, barrier] : cta->mbarriers())
      if (barrier.transaction_bytes() != 0)
        cta->report(FaultKind::byte_count, false, nullptr,
                    "the CTA ended with " + barrier_at(*cta, address) + " an " + barrier.describe());
  }
}

}  // namespace mlaindex::emulator
