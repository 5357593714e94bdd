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

void Timeline::place_on_warp(TraceEvent& made, const Warp& warp) const {
  const std::string role = cluster_.role(warp.index);
  const std::string number = "warp " + std::to_string(warp.index);
  made.order = warp.index;
  made.track = role.empty() ? number : role + " (" + number + ")";
}

void Timeline::add_wait(const Warp& warp, const Fragment& fragment, std::uint32_t line, const char* outcome) {
  TraceEvent wait = event(TraceRow::warp, warp.cta.rank, fragment.blocked_since);
  place_on_warp(wait, warp);
  wait.name = "wait for " + cluster_.launch.wait_text(fragment.wait.kind, fragment.wait.value) + outcome;
  wait.line = line;
  events_.push_back(std::move(wait));
}

void Timeline::add_work(const AsyncOperation& operation, const char* outcome) {
  TraceEvent work = event(TraceRow::engine, operation.cta, operation.issued);
  work.track = operation.engine == std::string_view("arrive") ? "commit" : operation.engine;
  work.name = work.track + outcome;
  work.line = operation.line;
  events_.push_back(std::move(work));
}

void Timeline::add_phase(std::uint32_t cta, std::uint32_t address, const Phase& phase, const char* outcome) {
  TraceEvent bar = event(TraceRow::barrier, cta, phase.begin);
  bar.order = address;
  bar.track = cluster_.launch.barrier_text(address);
  bar.name = "phase " + std::to_string(phase.number) + outcome;
  events_.push_back(std::move(bar));
}

void Timeline::note_wait(const Warp& warp, const Fragment& fragment) {
  if (cluster_.now > fragment.blocked_since) add_wait(warp, fragment, warp.current->line, "");
}

void Timeline::note_completion(const AsyncOperation& operation) { add_work(operation, ""); }

void Timeline::note_phases() {
  std::size_t barriers = 0;
  for (const auto& cta : cluster_.ctas) barriers += cta->mbarriers().size();
  if (cluster_.changes == seen_changes_ && barriers == phases_.size()) return;
  seen_changes_ = cluster_.changes;
  for (const auto& cta : cluster_.ctas) {
    for (const auto& [address, barrier] : cta->mbarriers()) {
      const auto [phase, is_new] = phases_.try_emplace({cta->rank, address}, Phase{barrier.phase(), cluster_.now});
      if (is_new || phase->second.number == barrier.phase()) continue;
      add_phase(cta->rank, address, phase->second, "");
      phase->second = {barrier.phase(), cluster_.now};
    }
  }
}

void Timeline::note_fault(const Cta& cta, const Warp* warp, const Fault& fault) {
  TraceEvent mark = event(TraceRow::warp, cta.rank, cluster_.now);
  mark.end = mark.begin;
  mark.name = std::string("fault: ") + fault_kind_name(fault.kind);
  mark.detail = fault.message;
  mark.line = fault.line;
  if (warp != nullptr) {
    place_on_warp(mark, *warp);
  } else {
    mark.order = cluster_.launch.num_warps();  // below the warps
    mark.track = "faults";
  }
  events_.push_back(std::move(mark));
}

void Timeline::finish() {
  if (!cluster_.launch.stop) return;
  note_phases();
  constexpr const char* cut = ", cut short by a fault";
  for (const auto& cta : cluster_.ctas)
    for (const auto& warp : cta->warps)
      for (const Fragment& fragment : warp->fragments())
        if (fragment.blocked) add_wait(*warp, fragment, cluster_.launch.program.instructions[fragment.pc].line, cut);
  cluster_.async.for_pending([&](const AsyncOperation& operation) { add_work(operation, cut); });
  for (const auto& [place, phase] : phases_) add_phase(place.first, place.second, phase, cut);
}

}  // namespace mlaindex::emulator
