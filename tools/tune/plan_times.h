// Every plan that a route may choose for a problem, timed side by side.
#pragma once

#include <vector>

#include "generator/route.h"
#include "generator/route_table.h"
#include "tools/bench/bench_run.h"

namespace mlaindex::tools {

struct PlanTimes {
  Spec spec;
  ProblemSize size;
  std::vector<PlanTime> times;  // medians of warm launches from a graph, in the order of routable_plans(spec)
};

// As a row of a table, with times to four digits.
RouteRow row_of(const PlanTimes& times);

// For one thread at a time. Errors name the shape.
class PlanTimer {
 public:
  // The device and the store must outlive it.
  PlanTimer(CudaDevice& device, KernelStore& kernels, const BenchSettings& settings)
      : device_(device), kernels_(kernels), settings_(settings), checks_(device, settings.seed) {}

  // Checks the kernel of every plan, unless that was done; whether all so far passed.
  Result<bool> check(const BenchShape& shape, const BenchModel& model);

  // Times kernels that are checked. Errors: those of the driver and the compiler, out_of_memory.
  Result<PlanTimes> time(GpuStopwatch& stopwatch, const BenchShape& shape, const BenchModel& model);

  const std::vector<BenchCheck>& checks() const noexcept { return checks_.results(); }

 private:
  CudaDevice& device_;
  KernelStore& kernels_;
  BenchSettings settings_;
  KernelChecks checks_;
};

}  // namespace mlaindex::tools
