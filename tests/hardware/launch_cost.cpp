#include "tests/hardware/launch_cost.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "runtime/event_timer.h"
#include "runtime/uploaded_problem.h"

namespace mlaindex::hardware {
namespace {

constexpr int num_launches = 10000;
constexpr int launches_per_drain = 200;  // fewer than the driver queues before a launch blocks

// Median microseconds of a launch, alternating between two problems.
Result<double> median_cost(CudaDevice& device, Launcher& launcher, const DeviceProblem& even,
                           const DeviceProblem& odd) {
  using Clock = std::chrono::steady_clock;
  auto drain = EventTimer::create(device.context());
  if (!drain) return drain.error();
  std::vector<double> costs;
  for (int i = 0; i < num_launches; ++i) {
    const DeviceProblem& problem = i % 2 == 0 ? even : odd;
    const auto begin = Clock::now();
    const Status status = launcher.launch(problem, nullptr);
    costs.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    if (!status) return status.error();
    if (i % launches_per_drain != launches_per_drain - 1) continue;
    if (Status started = drain->start(nullptr); !started) return started.error();
    if (auto drained = drain->stop(nullptr); !drained) return drained;
  }
  std::nth_element(costs.begin(), costs.begin() + num_launches / 2, costs.end());
  return costs[num_launches / 2];
}

}  // namespace

Result<LaunchCost> measure_launch_cost(CudaDevice& device, KernelStore& store, const tools::Case& input) {
  const auto lookup = store.get(spec_for(input.problem, device.arch()));
  if (!lookup) return lookup.error();
  const auto launcher = device.launcher(*lookup->kernel);
  if (!launcher) return launcher.error();
  const std::vector<std::byte> scores(score_buffer_bytes(input.problem));
  const auto even = UploadedProblem::create(device.context(), input.problem, scores, false);
  if (!even) return even.error();
  const auto odd = UploadedProblem::create(device.context(), input.problem, scores, false);
  if (!odd) return odd.error();
  const auto same = median_cost(device, **launcher, even->device(), even->device());
  if (!same) return same.error();
  const auto changing = median_cost(device, **launcher, even->device(), odd->device());
  if (!changing) return changing.error();
  return LaunchCost{*same, *changing};
}

}  // namespace mlaindex::hardware
