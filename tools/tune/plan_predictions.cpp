#include "tools/tune/plan_predictions.h"

#include <vector>

namespace mlaindex::tools {
namespace {

ProblemSize size_of_equal_requests(const BenchShape& shape, const BenchModel& model) noexcept {
  const std::int64_t page = shape.family == BenchFamily::decode ? model.page_size : 1;
  return {static_cast<int>(shape.requests * shape.tokens), static_cast<int>((shape.context + page - 1) / page * page),
          static_cast<int>(shape.requests)};
}

}  // namespace

Result<PlanTimes> predict_plans(KernelStore& kernels, KernelModel& cycle_model, const BenchShape& shape, const BenchModel& model) {
  PlanTimes result{bench_spec(shape, model, cycle_model.gpu().arch), size_of_equal_requests(shape, model), {}};
  for (std::string_view plan : routable_plans(result.spec)) {
    const Result<KernelLookup> lookup = kernels.get(result.spec, plan);
    if (!lookup) return at(shape, lookup.error());
    const Result<model::Prediction> prediction = cycle_model.predict(*lookup->kernel, result.size);
    if (!prediction) return at(shape, prediction.error());
    result.times.push_back({std::string(plan), prediction->microseconds});
  }
  return result;
}

RouteRow predicted_row_of(const PlanTimes& times) {
  RouteRow row = row_of(times);
  const double of_default = row.times.front().microseconds;
  std::erase_if(row.times, [&](const PlanTime& time) {
    return time.microseconds < of_default && time.microseconds >= of_default * (1 - model_error);
  });
  return row;
}

}  // namespace mlaindex::tools
