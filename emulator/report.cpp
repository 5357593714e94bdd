// What a run has to say: a summary for a person and a timeline for a viewer.
#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "emulator/machine.h"

namespace mlaindex::emulator {

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

std::string chrome_trace(const RunReport& report) {
  nlohmann::json events = nlohmann::json::array();
  std::set<std::pair<std::uint32_t, std::string>> tracks;
  const auto process = [](const TraceEvent& e) { return e.cluster * 16 + e.cta; };
  for (const TraceEvent& e : report.trace) tracks.insert({process(e), e.track});
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> rows;
  for (const auto& track : tracks) {
    const std::size_t row = rows.size();
    rows[track] = row;
    events.push_back({{"ph", "M"}, {"name", "thread_name"}, {"pid", track.first}, {"tid", row}, {"args", {{"name", track.second}}}});
  }
  for (const TraceEvent& e : report.trace)
    events.push_back({{"ph", "X"}, {"name", e.name}, {"pid", process(e)}, {"tid", rows[{process(e), e.track}]},
                      {"ts", e.begin}, {"dur", e.end - e.begin}});
  return nlohmann::json{{"traceEvents", std::move(events)}}.dump();
}

}  // namespace mlaindex::emulator
