#include <algorithm>
#include <cstdint>
#include <optional>

#include "generator/base/format.h"
#include "generator/explain.h"
#include "generator/route.h"
#include "tools/commands.h"
#include "tools/kernel_model.h"
#include "tools/lower_bound.h"
#include "tools/model_report.h"

namespace mlaindex::tools {
namespace {

std::string route_text(const Routes& routes, const Spec& spec, const SpecOptions& options) {
  if (!options.plan.empty()) return options.plan + ": as asked";
  const RouteTable& table = routes.table(spec.arch);
  const Result<Route> chosen = choose_route(spec, size_of(options), table);
  return chosen ? explain_route(*chosen, table) : chosen.error().text();
}

// What the cycle model says: of the loop always, of a time when the size of the problem is given.
struct ModelAnswer {
  model::Gpu gpu;
  model::LoopCosts loop;
  std::optional<model::Prediction> prediction;
};

Result<ModelAnswer> ask_model(Session& session, const Spec& spec, const ExplainOptions& options) {
  const Result<model::Gpu> gpu = options.gpu.empty() ? model::gpu_of_arch(spec.arch) : model::gpu_of_name(options.gpu);
  if (!gpu) return gpu.error();
  if (gpu->arch != spec.arch) {
    return Error{ErrorCode::invalid_argument, fmt::format("--gpu {} with --arch {}", options.gpu, arch_name(spec.arch)),
                 fmt::format("{} runs {}", gpu->name, arch_name(gpu->arch))};
  }
  Result<KernelModel> cycle_model = KernelModel::create(session.config(), *gpu);
  if (!cycle_model) return cycle_model.error();
  const ProblemSize size = size_of(options.spec);
  const Result<KernelLookup> lookup = session.kernels().get(spec, options.spec.plan, size);
  if (!lookup) return lookup.error();
  const CompiledKernel& kernel = *lookup->kernel;
  const Result<const model::LoopCosts*> loop = cycle_model->loop(kernel);
  if (!loop) return loop.error();
  ModelAnswer answer{*gpu, **loop, std::nullopt};
  if (options.spec.num_tokens && options.spec.num_keys) {
    Result<model::Prediction> prediction = cycle_model->predict(kernel, size);
    if (!prediction) return prediction.error();
    answer.prediction = *std::move(prediction);
  }
  return answer;
}

void print_model(Output& output, const ModelAnswer& answer) {
  output.line();
  print_loop(output, answer.loop, answer.gpu);
  Json json = {{"gpu", answer.gpu.name}, {"calibrated", answer.gpu.calibrated}, {"loop", loop_json(answer.loop)}};
  if (answer.prediction) {
    print_prediction(output, *answer.prediction);
    json["prediction"] = prediction_json(*answer.prediction);
  } else {
    output.row("time", "give --tokens and --keys, of paged keys --requests as well");
  }
  output.set("model", std::move(json));
}

}  // namespace

Result<ExitCode> run_explain(Session& session, const ExplainOptions& explained) {
  const SpecOptions& options = explained.spec;
  if (!explained.gpu.empty() && !explained.model) {
    return Error{ErrorCode::invalid_argument, "--gpu has no meaning without --model", "add --model, or leave it out"};
  }
  const Result<Spec> spec = spec_of(options);
  if (!spec) return spec.error();
  const Result<Plan> plan = find_plan(*spec, options.plan, size_of(options), session.routes());
  if (!plan) return plan.error();
  std::optional<ModelAnswer> answer;
  if (explained.model) {
    Result<ModelAnswer> asked = ask_model(session, *spec, explained);
    if (!asked) return asked.error();
    answer = *std::move(asked);
  }

  Output& output = session.output();
  const std::string route = route_text(session.routes(), *spec, options);
  std::string text = explain(*spec, *plan);
  output.set("spec", to_string(*spec));
  output.set("plan", plan->name);
  output.set("kernel", kernel_name(*spec, *plan));
  output.set("route", route);
  output.set("text", text);
  nlohmann::json launch = {{"tokens_per_block", plan->tokens_per_block}, {"tile_keys", plan->tile_keys}, {"mma_n", plan->mma_n},
                           {"num_threads", plan->num_threads}, {"ctas_per_sm", plan->ctas_per_sm},
                           {"dynamic_shared_bytes", plan->shared_bytes()}};
  while (text.ends_with('\n')) text.pop_back();
  output.line(text);
  output.line();
  output.line(fmt::format("{:<10} {}", "route", route));
  if (options.num_tokens && options.num_keys) {
    const LowerBound bound = lower_bound(*spec, *options.num_tokens, *options.num_keys);
    const LaunchGrid grid = launch_grid(*spec, *plan, size_of(options), bound.num_sms);
    launch["grid"] = {grid.x, grid.y};
    launch["unit_share"] = grid.unit_share;
    launch["in_sequence"] = grid.in_sequence;
    launch["log2_pieces"] = grid.log2_pieces;
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
  if (answer) print_model(output, *answer);
  return ExitCode::done;
}

}  // namespace mlaindex::tools
