#include "emulator/timeline.h"

#include <algorithm>
#include <string_view>

#include "emulator/cluster.h"

namespace mlaindex::emulator {

// A bar that ends now; one that took no time is shown as the shortest there is.
TraceEvent Timeline::event(TraceRow row, std::uint32_t cta, std::uint64_t begin) const {
  TraceEvent made;
  made.row = row;
  made.cluster = static_cast<std::uint32_t>(cluster_.index);
  made.cta = cta;
  made.begin = begin;
  made.end = std::max(cluster_.now, begin + 1);
  return made;
}

void Timeline::note_wait(const Warp& warp, const Fragment& fragment) {
  if (cluster_.now <= fragment.blocked_since) return;
  TraceEvent wait = event(TraceRow::warp, warp.cta.rank, fragment.blocked_since);
  const std::string role = cluster_.role(warp.index);
  const std::string number = "warp " + std::to_string(warp.index);
  wait.order = warp.index;
  wait.track = role.empty() ? number : role + " (" + number + ")";
  wait.name = "wait for " + cluster_.launch.wait_text(fragment.wait.kind, fragment.wait.value);
  wait.line = warp.current->line;
  events_.push_back(std::move(wait));
}

void Timeline::note_completion(const AsyncOperation& operation) {
  TraceEvent work = event(TraceRow::engine, operation.cta, operation.issued);
  work.track = operation.engine == std::string_view("arrive") ? "commit" : operation.engine;
  work.name = work.track;
  work.line = operation.line;
  events_.push_back(std::move(work));
}

void Timeline::note_phases() {
  std::size_t barriers = 0;
  for (const auto& cta : cluster_.ctas) barriers += cta->mbarriers().size();
  if (cluster_.changes == seen_changes_ && barriers == phases_.size()) return;
  seen_changes_ = cluster_.changes;
  for (const auto& cta : cluster_.ctas) {
    for (const auto& [address, barrier] : cta->mbarriers()) {
      const auto [phase, is_new] = phases_.try_emplace({cta->rank, address}, Phase{barrier.phase(), cluster_.now});
      if (is_new || phase->second.number == barrier.phase()) continue;
      TraceEvent bar = event(TraceRow::barrier, cta->rank, phase->second.begin);
      bar.order = address;
      bar.track = cluster_.launch.barrier_text(address);
      bar.name = "phase " + std::to_string(phase->second.number);
      events_.push_back(std::move(bar));
      phase->second = {barrier.phase(), cluster_.now};
    }
  }
}

}  // namespace mlaindex::emulator
