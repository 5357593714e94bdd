#include "generator/explain.h"
#include "tools/commands.h"
#include "tools/lower_bound.h"

namespace mlaindex::tools {

Result<ExitCode> run_explain(Session& session, const SpecOptions& options) {
  const Result<Spec> spec = spec_of(options);
  if (!spec) return spec.error();
  const Result<Plan> plan = plan_of(*spec, options.plan);
  if (!plan) return plan.error();

  Output& output = session.output();
  std::string text = explain(*spec, *plan);
  output.set("spec", to_string(*spec));
  output.set("plan", plan->name);
  output.set("kernel", kernel_name(*spec, *plan));
  output.set("text", text);
  while (text.ends_with('\n')) text.pop_back();
  output.line(text);
  if (options.num_tokens && options.num_keys) {
    const LowerBound bound = lower_bound(*spec, *options.num_tokens, *options.num_keys);
    output.line();
    output.line(describe(bound));
    output.set("lower_bound_us", {{"device", bound.device}, {"tensor", bound.tensor}, {"fold", bound.fold},
                                  {"memory", bound.memory}});
  }
  return ExitCode::done;
}

}  // namespace mlaindex::tools
