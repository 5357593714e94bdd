#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "generator/explain.h"
#include "generator/route.h"
#include "tools/commands.h"
#include "tools/lower_bound.h"

namespace mlaindex::tools {

Result<ExitCode> run_explain(Session& session, const SpecOptions& options) {
  const Result<Spec> spec = spec_of(options);
  if (!spec) return spec.error();
  const Result<Plan> plan = plan_of(*spec, options);
  if (!plan) return plan.error();

  Output& output = session.output();
  std::string text = explain(*spec, *plan);
  output.set("spec", to_string(*spec));
  output.set("plan", plan->name);
  output.set("kernel", kernel_name(*spec, *plan));
  output.set("text", text);
  nlohmann::json launch = {{"tokens_per_block", plan->tokens_per_block}, {"tile_keys", plan->tile_keys}, {"mma_n", plan->mma_n},
                           {"num_threads", plan->num_threads}, {"ctas_per_sm", plan->ctas_per_sm},
                           {"dynamic_shared_bytes", plan->shared_bytes()}};
  while (text.ends_with('\n')) text.pop_back();
  output.line(text);
  if (options.num_tokens && options.num_keys) {
    const LowerBound bound = lower_bound(*spec, *options.num_tokens, *options.num_keys);
    const LaunchGrid grid = launch_grid(*plan, size_of(options), bound.num_sms);
    launch["grid"] = {grid.x, grid.y};
    output.line();
    output.line(plan->persistent ? fmt::format("grid       {} CTA(s), which share out the key tiles, on the {} SMs of one {}",
                                               grid.x, bound.num_sms, bound.device)
                                 : fmt::format("grid       {} token block(s) x {} key part(s) on the {} SMs of one {}",
                                               grid.x, grid.y, bound.num_sms, bound.device));
    output.line(describe(bound));
    output.set("lower_bound_us", {{"device", bound.device}, {"tensor", bound.tensor}, {"fold", bound.fold},
                                  {"memory", bound.memory}});
  }
  output.set("launch", std::move(launch));
  return ExitCode::done;
}

}  // namespace mlaindex::tools
