#include "generator/source.h"
#include "tools/commands.h"

namespace mlaindex::tools {

Result<ExitCode> run_emit(Session& session, const SpecOptions& options) {
  const Result<Spec> spec = spec_of(options);
  if (!spec) return spec.error();
  const Result<Plan> plan = find_plan(*spec, options.plan, size_of(options), session.routes());
  if (!plan) return plan.error();
  const Result<std::string> source = emit_source(*spec, *plan);
  if (!source) return source.error();

  Output& output = session.output();
  output.bytes(*source);
  output.set("spec", to_string(*spec));
  output.set("plan", plan->name);
  output.set("kernel", kernel_name(*spec, *plan));
  output.set("source", *source);
  return ExitCode::done;
}

}  // namespace mlaindex::tools
