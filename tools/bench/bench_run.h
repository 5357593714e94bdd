// One benchmark on one GPU: every kernel checked against the reference, then timed.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "runtime/cuda_device.h"
#include "tools/bench/report.h"

namespace mlaindex::tools {

struct BenchSettings {
  int samples = 30;  // of each timing
  std::uint64_t seed = 1;
};

// A kernel's scores of a small case against the f64 reference.
struct BenchCheck {
  std::string kernel, plan;
  bool passed = false;
  std::string summary;
};

// For one thread at a time. Errors name the shape.
class BenchRun {
 public:
  // The device and the store must outlive it.
  BenchRun(CudaDevice& device, KernelStore& kernels, const BenchSettings& settings)
      : device_(device), kernels_(kernels), settings_(settings) {}

  // Checks the kernel that the shape is routed to, unless that was done; whether all so far passed.
  Result<bool> check(const BenchShape& shape, const BenchModel& model);

  // Errors: those of the driver and the compiler; internal when the data is routed to a kernel that was
  // not checked before and fails its check now.
  Result<BenchResult> time(GpuStopwatch& stopwatch, const BenchShape& shape, const BenchModel& model);

  const std::vector<BenchCheck>& checks() const noexcept { return checks_; }

 private:
  Result<KernelLookup> kernel_for(const BenchShape& shape, const BenchModel& model, const ProblemSize& size);
  Result<bool> check_kernel(const CompiledKernel& kernel, const BenchShape& shape, const BenchModel& model);

  CudaDevice& device_;
  KernelStore& kernels_;
  BenchSettings settings_;
  std::vector<BenchCheck> checks_;
  std::set<std::string> checked_;  // keys of kernels
};

}  // namespace mlaindex::tools
