// Every plan that a route may choose for a problem, with the times that the cycle model predicts.
#pragma once

#include "tools/kernel_model.h"
#include "tools/tune/plan_times.h"

namespace mlaindex::tools {

// About the mean error of the model on the GPU that it is fitted to: nearer than that it does not tell plans apart.
inline constexpr double model_error = 0.05;

// Of requests that are all as long as the shape's context. Errors name the shape: those of KernelStore::get and
// KernelModel::predict.
Result<PlanTimes> predict_plans(KernelStore& kernels, KernelModel& cycle_model, const BenchShape& shape, const BenchModel& model);

// As row_of, but the default plan, which is the first, stays the choice unless another one is faster by more than the
// error: plans that are faster by less are left out.
RouteRow predicted_row_of(const PlanTimes& times);

}  // namespace mlaindex::tools
