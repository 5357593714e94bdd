// How long one launch takes, in every way that matters to a server.
#pragma once

#include <span>
#include <vector>

#include "runtime/launcher.h"
#include "tools/bench/gpu_stopwatch.h"

namespace mlaindex::tools {

// Microseconds of one launch. Warm: several in a row, their time divided, with what fits in L2 there.
// Cold: one, after L2 was overwritten, the gap between two events included. Graph: replayed, so that the
// host's cost of a launch does not count; else launched one by one.
struct LaunchTimes {
  Spread warm_graph, warm_launches, cold_graph, cold_launch;
  Spread host;                  // what one launch costs the calling thread
  int launches_per_sample = 0;  // of the warm ones
};

inline constexpr int least_bench_samples = 3;
inline constexpr int max_bench_samples = 10'000;

// Runs the problem, which is on the GPU, as often as that takes. Errors are those of the driver.
Result<LaunchTimes> time_launches(GpuStopwatch& stopwatch, Launcher& launcher, const DeviceProblem& problem,
                                  int samples);

// Warm graphs of several kernels of the same problem, a sample of each in turn, so that they find the GPU's clocks alike.
// Microseconds of one launch, in the order of the launchers.
Result<std::vector<Spread>> time_in_turn(GpuStopwatch& stopwatch, std::span<Launcher* const> launchers,
                                         const DeviceProblem& problem, int samples);

}  // namespace mlaindex::tools
