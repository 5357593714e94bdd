#include "tools/tune/plan_times.h"

#include <cmath>
#include <cstdlib>

#include "generator/base/format.h"

namespace mlaindex::tools {

RouteRow row_of(const PlanTimes& times) {
  RouteRow row{times.spec.layout, padded_heads(times.spec.num_heads), times.spec.depth,
               route_point(times.spec.layout, times.size), times.times};
  for (PlanTime& time : row.times) time.microseconds = std::strtod(fmt::format("{:.4g}", time.microseconds).c_str(), nullptr);
  return row;
}

Result<bool> PlanTimer::check(const BenchShape& shape, const BenchModel& model) {
  const Spec spec = bench_spec(shape, model, device_.arch());
  bool all_passed = true;
  for (std::string_view plan : routable_plans(spec)) {
    const Result<KernelLookup> lookup = kernels_.get(spec, plan);
    if (!lookup) return at(shape, lookup.error());
    const Result<bool> passed = checks_.check(*lookup->kernel, shape, model);
    if (!passed) return at(shape, passed.error());
    all_passed = all_passed && *passed;
  }
  return all_passed;
}

Result<PlanTimes> PlanTimer::time(GpuStopwatch& stopwatch, const BenchShape& shape, const BenchModel& model) {
  const Result<Case> data = make_bench_case(shape, model, settings_.seed);
  if (!data) return at(shape, data.error());
  PlanTimes result{bench_spec(shape, model, device_.arch()), size_of(data->problem), {}};
  const auto uploaded = upload(device_, data->problem);
  if (!uploaded) return at(shape, uploaded.error());
  std::vector<Launcher*> launchers;
  const std::vector<std::string_view> plans = routable_plans(result.spec);
  for (std::string_view plan : plans) {
    const Result<KernelLookup> lookup = kernels_.get(result.spec, plan);
    if (!lookup) return at(shape, lookup.error());
    const Result<Launcher*> launcher = device_.launcher(*lookup->kernel);
    if (!launcher) return at(shape, launcher.error());
    launchers.push_back(*launcher);
  }
  const Result<std::vector<Spread>> spreads = time_in_turn(stopwatch, launchers, uploaded->device(), settings_.samples);
  if (!spreads) return at(shape, spreads.error());
  for (std::size_t i = 0; i < plans.size(); ++i) result.times.push_back({std::string(plans[i]), (*spreads)[i].median});
  return result;
}

}  // namespace mlaindex::tools
