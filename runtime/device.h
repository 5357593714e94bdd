// Where scores are computed: a GPU, the emulator, or the CPU reference, behind one interface.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/result.h"
#include "runtime/config.h"
#include "runtime/error_bound.h"
#include "runtime/kernel_store.h"
#include "runtime/score_problem.h"

namespace mlaindex {

struct RunOptions {
  std::string plan_name;  // empty: the default plan
  int timed_runs = 0;     // extra runs, timed one by one, for kernel_milliseconds

  // Surround every device buffer with a byte pattern and fail the run if a byte of it changed.
  bool guard_zones = false;
};

// How long the warps of a role were blocked, and on what.
struct WarpWait {
  std::string role;          // of the plan
  std::string waits_for;     // "key_full[2]", "lanes of its warp"
  double share = 0;          // of the time of all warps of the role, 0 to 1
  std::uint64_t times = 0;
};

struct ScoreRun {
  std::string device;                                   // "cuda:0 (NVIDIA H200, sm_90a)"
  AccumulationModel accumulation = exact_accumulation;  // what check_scores should allow
  std::optional<KernelLookup> kernel = {};              // absent on the CPU and where nothing was launched
  std::optional<double> kernel_milliseconds = {};       // of one launch; the median when timed_runs > 0
  std::vector<WarpWait> waits = {};                     // of the emulator: longest first
  std::string evidence = {};                            // what the run itself showed, for a person; often empty
};

// For one thread at a time.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual std::string name() const = 0;

  // Whether runs can be recorded as a timeline of warps, engines and barriers.
  virtual bool has_timeline() const noexcept { return false; }

  // The scores of the problem into host memory. Bytes that the contract leaves untouched keep the
  // value that the buffer had.
  virtual Result<ScoreRun> score(const ScoreProblem& problem, ScoreBuffer scores,
                                 const RunOptions& options) = 0;
};

// Opens the emulator of an arch. Passed in by the program, so that this library does not depend on
// the emulator.
using EmulatorFactory = std::function<Result<std::unique_ptr<Device>>(KernelStore&, Arch)>;

struct DeviceRequest {
  std::string name = "auto";       // auto, cuda:N, emulator or cpu
  std::optional<Arch> arch = {};   // of the emulator (default sm_100a); a GPU must be of it when given
  EmulatorFactory emulator = {};   // empty: this program has none
};

struct OpenedDevice {
  std::unique_ptr<Device> device;
  std::string note;  // under auto, why a better device was passed over; else empty
};

// N of "cuda:N", or nothing where that is not what it says.
std::optional<int> cuda_ordinal(std::string_view name) noexcept;

// auto is cuda:0, else the emulator, else the CPU. The store must outlive the device.
Result<OpenedDevice> open_device(const DeviceRequest& request, KernelStore& store, const Config& config);

}  // namespace mlaindex
