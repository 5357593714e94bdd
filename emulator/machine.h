// The emulator's public entry: run one kernel launch of a PTX module on the host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "emulator/fault.h"
#include "emulator/global_memory.h"
#include "generator/base/barrier_group.h"
#include "generator/base/result.h"
#include "generator/ptx/module.h"

namespace mlaindex::emulator {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const noexcept { return std::uint64_t{x} * y * z; }
};

enum class ArithmeticMode : std::uint8_t {
  exact,     // products and sums exact, rounded once an instruction
  hardware,  // the bit-level accumulation model of the module's target
};

struct Options {
  // Same seed, same run. Seed 0 completes asynchronous work at once, seed 1 as late as possible, the
  // others mix.
  std::uint64_t seed = 0;
  ArithmeticMode arithmetic = ArithmeticMode::exact;
  std::uint32_t shared_base = 0x400;         // where shared memory starts; multiple of 16
  std::uint64_t max_steps = 4'000'000'000;   // warp instructions of one cluster
  unsigned threads = 0;                      // host threads; 0: as many as the machine has
  bool trace = false;
};

struct LaunchSpec {
  const ptx::Module* module = nullptr;       // must outlive the run
  std::string entry;
  Dim3 grid, block, cluster;                 // cluster {1, 1, 1}: none, or what the kernel declares
  std::uint32_t dynamic_shared_bytes = 0;
  bool non_portable_cluster = false;         // allow clusters of more than 8 CTAs, at most 16
  std::vector<std::byte> params;             // laid out as the kernel declares its parameters
  const GlobalMemory* memory = nullptr;      // every buffer the kernel may touch
  std::vector<std::string> warp_roles;       // optional: name of the role of warp 0, 1, ...
  std::vector<BarrierGroup> barriers;        // optional: names of mbarriers in dynamic shared memory
  Options options;
};

// What a row of the timeline belongs to.
enum class TraceRow : std::uint8_t {
  warp,     // its waits; between them it runs, or could
  engine,   // asynchronous work from issue to completion
  barrier,  // phases of an mbarrier
};

// A bar of the timeline, or a fault: then end is begin. Times count warp instructions of the cluster: an
// order, not a duration.
struct TraceEvent {
  TraceRow row = TraceRow::warp;
  std::uint32_t order = 0;  // among rows of a kind: warp index, shared address
  std::string name, track;
  std::string detail;       // a fault's message
  std::uint32_t cluster = 0, cta = 0;
  std::uint32_t line = 0;   // of the PTX; 0: none
  std::uint64_t begin = 0, end = 0;
};

// How long warps of a role were blocked at one line.
struct Stall {
  std::string role;      // or "warp N"
  std::string waits_for; // "key_full[2]", "mbarrier 0x25C08", "lanes of its warp"
  std::uint32_t line = 0;
  std::uint64_t steps = 0, times = 0;
  double share = 0;      // of the time of all warps of the role, from the start of a cluster to its end
};

struct RunReport {
  std::vector<Fault> faults;                 // empty: nothing was found
  bool completed = false;                    // every CTA ran to its end
  std::uint64_t warp_instructions = 0;
  std::map<std::string, std::uint64_t> instructions_by_opcode;  // warp instructions
  std::vector<Stall> stalls;                 // longest first
  std::vector<TraceEvent> trace;             // only if asked for

  bool clean() const noexcept { return completed && faults.empty(); }
  std::string text() const;                  // summary for a person
};

// Runs every CTA. Faults of the kernel are in the report; an error means that the launch itself is
// not possible (no such entry, wrong parameter size, illegal block or cluster).
Result<RunReport> run(const LaunchSpec& launch);

// The trace in Chrome's JSON format, which Perfetto opens: a process per CTA, in it a row per warp,
// engine and barrier; faults are marks in the row of their warp. What overlaps in one row is spread over
// several. One microsecond there is one warp instruction of the cluster.
std::string chrome_trace(const RunReport& report);

}  // namespace mlaindex::emulator
