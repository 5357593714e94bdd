// What a run has to say: a summary for a person and a timeline for a viewer.
#include <algorithm>
#include <compare>
#include <optional>

#include <nlohmann/json.hpp>

#include "emulator/machine.h"

namespace mlaindex::emulator {
namespace {

constexpr std::uint32_t kLargestCluster = 16;

}  // namespace

std::string RunReport::text() const {
  std::string out = completed ? "completed" : "stopped";
  out += ", " + std::to_string(warp_instructions) + " warp instructions, " + std::to_string(faults.size()) +
         (faults.size() == 1 ? " finding\n" : " findings\n");
  for (const Fault& fault : faults) out += "  " + fault.text() + "\n";
  const std::size_t shown = std::min<std::size_t>(stalls.size(), 10);
  if (shown != 0) out += "longest stalls, in warp instructions of the cluster:\n";
  for (std::size_t i = 0; i < shown; ++i)
    out += "  " + stalls[i].role + ", line " + std::to_string(stalls[i].line) + ", " + stalls[i].waits_for + ": " +
           std::to_string(stalls[i].steps) + " in " + std::to_string(stalls[i].times) + " waits\n";
  return out;
}

namespace {

// A row of the viewer, before overlapping bars are spread.
struct RowKey {
  std::uint32_t process;
  TraceRow row;
  std::uint32_t order;
  std::string track;
  auto operator<=>(const RowKey&) const = default;
};

RowKey row_of(const TraceEvent& event) {
  return {event.cluster * kLargestCluster + event.cta, event.row, event.order, event.track};
}

const char* category(TraceRow row) noexcept {
  switch (row) {
    case TraceRow::warp: return "warp";
    case TraceRow::engine: return "engine";
    case TraceRow::barrier: return "barrier";
  }
  return "";
}

// Bars of one row, spread over as few lanes as keep bars of a lane from overlapping.
using Lanes = std::vector<std::vector<const TraceEvent*>>;

Lanes spread(std::vector<const TraceEvent*> bars) {
  std::stable_sort(bars.begin(), bars.end(),
                   [](const TraceEvent* a, const TraceEvent* b) { return a->begin < b->begin; });
  Lanes lanes;
  for (const TraceEvent* bar : bars) {
    auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const auto& l) { return l.back()->end <= bar->begin; });
    if (lane == lanes.end()) lanes.push_back({bar});
    else lane->push_back(bar);
  }
  return lanes;
}

using Json = nlohmann::json;

Json named(const char* what, std::uint32_t process, std::size_t thread, Json arguments) {
  return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", std::move(arguments)}};
}

}  // namespace

std::string chrome_trace(const RunReport& report) {
  std::map<RowKey, std::vector<const TraceEvent*>> rows;
  bool clusters = false;
  for (const TraceEvent& event : report.trace) {
    rows[row_of(event)].push_back(&event);
    clusters = clusters || event.cta != 0;
  }
  Json events = Json::array();
  std::optional<std::uint32_t> process;
  std::size_t thread = 0;
  for (auto& [key, bars] : rows) {
    if (process != key.process) {
      process = key.process;
      const std::string cluster = std::to_string(key.process / kLargestCluster);
      const std::string name = clusters ? "cluster " + cluster + ", CTA " + std::to_string(key.process % kLargestCluster)
                                        : "CTA " + cluster;
      events.push_back(named("process_name", *process, 0, {{"name", name}}));
      thread = 0;
    }
    const Lanes lanes = spread(std::move(bars));
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      ++thread;
      const std::string suffix = lane == 0 ? "" : " +" + std::to_string(lane);
      events.push_back(named("thread_name", *process, thread, {{"name", key.track + suffix}}));
      events.push_back(named("thread_sort_index", *process, thread, {{"sort_index", thread}}));
      for (const TraceEvent* bar : lanes[lane]) {
        Json arguments = Json::object();
        if (bar->line != 0) arguments["line"] = bar->line;
        if (!bar->detail.empty()) arguments["message"] = bar->detail;
        Json event{{"name", bar->name}, {"pid", *process}, {"tid", thread}, {"ts", bar->begin}, {"args", std::move(arguments)}};
        if (bar->end > bar->begin) {
          event.update({{"ph", "X"}, {"cat", category(key.row)}, {"dur", bar->end - bar->begin}});
        } else {
          event.update({{"ph", "i"}, {"cat", "fault"}, {"s", "t"}});  // a mark in its row
        }
        events.push_back(std::move(event));
      }
    }
  }
  return Json{{"traceEvents", std::move(events)},
              {"otherData", {{"time", "one microsecond is one warp instruction of the cluster"}}}}
      .dump();
}

}  // namespace mlaindex::emulator
