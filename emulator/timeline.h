// The timeline of one cluster: waits of warps, work of the engines, phases of barriers.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "emulator/machine.h"

namespace mlaindex::emulator {

class Cluster;
class Cta;
class Warp;
struct AsyncOperation;
struct Fragment;

class Timeline {
 public:
  explicit Timeline(const Cluster& cluster) : cluster_(cluster) {}

  // The fragment goes on after it was blocked.
  void note_wait(const Warp& warp, const Fragment& fragment);
  void note_completion(const AsyncOperation& operation);
  // To be called whenever a barrier may have changed: phases that ended become bars.
  void note_phases();
  // `warp` is null where none is to blame.
  void note_fault(const Cta& cta, const Warp* warp, const Fault& fault);
  // To be called when the cluster ends. Where a fault cut it short, what was still going on ends now.
  void finish();

  std::vector<TraceEvent> take() { return std::move(events_); }

 private:
  struct Phase {
    std::uint32_t number = 0;
    std::uint64_t begin = 0;
  };
  TraceEvent event(TraceRow row, std::uint32_t cta, std::uint64_t begin) const;
  void place_on_warp(TraceEvent& event, const Warp& warp) const;
  void add_wait(const Warp& warp, const Fragment& fragment, std::uint32_t line, const char* outcome);
  void add_work(const AsyncOperation& operation, const char* outcome);
  void add_phase(std::uint32_t cta, std::uint32_t address, const Phase& phase, const char* outcome);

  const Cluster& cluster_;
  std::uint64_t seen_changes_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Phase> phases_;  // by CTA and address
  std::vector<TraceEvent> events_;
};

}  // namespace mlaindex::emulator
