// One benchmark on one GPU: every kernel checked against the reference, then timed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/cuda_device.h"
#include "runtime/uploaded_problem.h"
#include "tools/bench/kernel_checks.h"
#include "tools/bench/report.h"

namespace mlaindex::tools {

struct BenchSettings {
  int samples = 30;  // of each timing
  std::uint64_t seed = 1;
};

// The same error, naming the shape.
Error at(const BenchShape& shape, const Error& error);

// The problem on the GPU, with room for its scores. Errors: out_of_memory, those of the driver.
Result<UploadedProblem> upload(const CudaDevice& device, const ScoreProblem& problem);

// For one thread at a time. Errors name the shape.
class BenchRun {
 public:
  // The device and the store must outlive it.
  BenchRun(CudaDevice& device, KernelStore& kernels, const BenchSettings& settings)
      : device_(device), kernels_(kernels), settings_(settings), checks_(device, settings.seed) {}

  // Checks the kernel that the shape is routed to, unless that was done; whether all so far passed.
  Result<bool> check(const BenchShape& shape, const BenchModel& model);

  // Errors: those of the driver and the compiler; internal when the data is routed to a kernel that was
  // not checked before and fails its check now.
  Result<BenchResult> time(GpuStopwatch& stopwatch, const BenchShape& shape, const BenchModel& model);

  const std::vector<BenchCheck>& checks() const noexcept { return checks_.results(); }

 private:
  Result<KernelLookup> kernel_for(const BenchShape& shape, const BenchModel& model, const ProblemSize& size);

  CudaDevice& device_;
  KernelStore& kernels_;
  BenchSettings settings_;
  KernelChecks checks_;
};

}  // namespace mlaindex::tools
