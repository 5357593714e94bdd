// Kernels are checked before they are timed.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "runtime/cuda_device.h"
#include "tools/bench/bench_case.h"
#include "tools/output.h"

namespace mlaindex::tools {

// A kernel's scores of a small case against the f64 reference.
struct BenchCheck {
  std::string kernel, plan;
  bool passed = false;
  std::string summary;
};

// For one thread at a time.
class KernelChecks {
 public:
  // The device must outlive it.
  KernelChecks(CudaDevice& device, std::uint64_t seed) : device_(device), seed_(seed) {}

  // Checks the kernel on a small case with the tokens a request of `shape`, unless that was done; whether all so far
  // passed.
  Result<bool> check(const CompiledKernel& kernel, const BenchShape& shape, const BenchModel& model);

  const std::vector<BenchCheck>& results() const noexcept { return results_; }

 private:
  CudaDevice& device_;
  std::uint64_t seed_;
  std::vector<BenchCheck> results_;
  std::set<std::string> checked_;  // keys of kernels
};

// A row for each, and the field "checks".
void print_checks(Output& output, const std::vector<BenchCheck>& checks);

}  // namespace mlaindex::tools
