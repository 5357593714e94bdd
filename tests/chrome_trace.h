// What a viewer such as Perfetto needs of a trace in Chrome's JSON format.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace mlaindex {

using TraceRowId = std::pair<std::int64_t, std::int64_t>;  // process, thread

// The names that "thread_name" events give.
inline std::map<TraceRowId, std::string> trace_rows(const nlohmann::json& trace) {
  std::map<TraceRowId, std::string> names;
  for (const auto& event : trace.at("traceEvents"))
    if (event.value("ph", "") == "M" && event.value("name", "") == "thread_name")
      names[{event.value("pid", -1), event.value("tid", -1)}] = event.at("args").at("name");
  return names;
}

// Empty when every event has the fields of its kind, every row and process a name, and bars of one row lie
// apart or one inside the other.
inline std::vector<std::string> trace_problems(const nlohmann::json& trace) {
  if (!trace.contains("traceEvents") || !trace["traceEvents"].is_array()) return {"no array traceEvents"};
  std::vector<std::string> problems;
  std::set<TraceRowId> used;
  std::set<std::int64_t> processes;
  std::map<TraceRowId, std::vector<std::pair<std::int64_t, std::int64_t>>> bars;  // begin, -end: outer ones first
  for (const auto& event : trace["traceEvents"]) {
    const auto has = [&](const char* field, auto is_type) { return event.contains(field) && (event[field].*is_type)(); };
    constexpr auto integer = &nlohmann::json::is_number_integer, text = &nlohmann::json::is_string;
    const auto expect = [&](bool holds, const std::string& what) {
      if (!holds) problems.push_back(what + ": " + event.dump());
      return holds;
    };
    if (!expect(has("ph", text) && has("name", text) && has("pid", integer) && has("tid", integer), "no ph, name, pid or tid"))
      continue;
    const TraceRowId row{event["pid"], event["tid"]};
    const std::string kind = event["ph"];
    expect(!event["name"].get<std::string>().empty(), "no name");
    if (kind == "M") {
      if (event["name"] == "process_name") processes.insert(row.first);
      continue;
    }
    used.insert(row);
    if (!expect(has("ts", integer) && event["ts"] >= 0, "no ts")) continue;
    if (kind == "X") {
      if (!expect(has("dur", integer) && event["dur"] > 0, "no dur")) continue;
      const std::int64_t begin = event["ts"], duration = event["dur"];
      bars[row].push_back({begin, -(begin + duration)});
    } else {
      expect(kind == "i" && event.value("s", "") == "t", "neither a bar nor a mark of its row");
    }
  }
  const std::map<TraceRowId, std::string> names = trace_rows(trace);
  const auto row_text = [](const TraceRowId& row) { return std::to_string(row.first) + "/" + std::to_string(row.second); };
  for (const TraceRowId& row : used) {
    if (!names.contains(row) || names.at(row).empty()) problems.push_back("row " + row_text(row) + " has no name");
    if (!processes.contains(row.first)) problems.push_back("process " + std::to_string(row.first) + " has no name");
  }
  for (auto& [row, in_row] : bars) {
    std::sort(in_row.begin(), in_row.end());
    std::vector<std::int64_t> open;  // ends
    for (const auto& [begin, negated_end] : in_row) {
      while (!open.empty() && open.back() <= begin) open.pop_back();
      if (!open.empty() && open.back() < -negated_end)
        problems.push_back("row " + row_text(row) + ": bars cross at " + std::to_string(begin));
      open.push_back(-negated_end);
    }
  }
  return problems;
}

}  // namespace mlaindex
