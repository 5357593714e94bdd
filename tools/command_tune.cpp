#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "generator/base/format.h"
#include "tools/bench/open_gpu.h"
#include "tools/commands.h"
#include "tools/kernel_report.h"
#include "tools/output_file.h"
#include "tools/model_report.h"
#include "tools/progress_bar.h"
#include "tools/tune/plan_predictions.h"
#include "tools/tune/route_loss.h"
#include "tools/tune/shapes.h"

namespace mlaindex::tools {
namespace {

constexpr std::array both_families{BenchFamily::prefill, BenchFamily::decode};
constexpr double most_loss = 0.05;

struct Timed {
  BenchShape shape;
  BenchModel model;
};

Result<std::vector<BenchModel>> models_of(const TuneOptions& options) {
  if (options.samples < least_bench_samples || options.samples > max_bench_samples) {
    return Error{ErrorCode::invalid_argument, fmt::format("--samples {}", options.samples),
                 fmt::format("allowed: {} to {}", least_bench_samples, max_bench_samples)};
  }
  if (options.check && !options.output.empty())
    return Error{ErrorCode::invalid_argument, "-o with --check", "--check judges the table in effect and writes none"};
  std::vector<BenchModel> models;
  for (int num_heads : options.num_heads) {
    for (int depth : options.depths) {
      const BenchModel model{.num_heads = num_heads, .depth = depth, .page_size = options.page_size};
      for (const BenchFamily family : both_families) {
        if (Status valid = validate(bench_spec({family}, model, Arch::sm_90a)); !valid) return valid.error();
      }
      models.push_back(model);
    }
  }
  return models;
}

// Every shape of every model that leaves a choice.
std::vector<Timed> timed_of(const std::vector<BenchModel>& models, Arch arch, bool held_out) {
  std::vector<Timed> timed;
  for (const BenchFamily family : both_families) {
    for (const BenchModel& model : models) {
      for (const BenchShape& shape : held_out ? held_out_shapes(family) : grid_shapes(family)) {
        if (routable_plans(bench_spec(shape, model, arch)).size() > 1) timed.push_back({shape, model});
      }
    }
  }
  return timed;
}

std::string step_text(const Timed& one) {
  return fmt::format("{} {} {} heads", bench_family_name(one.shape.family), to_string(one.shape), one.model.num_heads);
}

Result<std::vector<PlanTimes>> time_all(PlanTimer& timer, GpuStopwatch& stopwatch, const std::vector<Timed>& timed) {
  std::vector<PlanTimes> all;
  ProgressBar progress(timed.size());
  for (const Timed& one : timed) {
    Result<PlanTimes> times = timer.time(stopwatch, one.shape, one.model);
    if (!times) return times.error();
    all.push_back(*std::move(times));
    progress.advance(step_text(one));
  }
  return all;
}

// Created before minutes of work; nothing without a path.
Result<std::optional<OutputFile>> create_file(const std::string& path) {
  if (path.empty()) return std::optional<OutputFile>();
  Result<OutputFile> created = OutputFile::create(path);
  if (!created) return created.error();
  return std::optional<OutputFile>(*std::move(created));
}

// Without a file the table alone is on stdout.
Status deliver(Output& output, const RouteTable& table, const std::string& path, std::optional<OutputFile>& file) {
  const std::string text = to_string(table);
  output.set("table", text);
  output.set("rows", table.rows.size());
  if (!file) {
    output.bytes(text);
    return {};
  }
  if (Status written = file->write(text.data(), text.size()); !written) return written;
  if (Status committed = file->commit(); !committed) return committed;
  output.row("table", fmt::format("{}, {} rows; MLAINDEX_JIT_ROUTES={} puts it in effect", path, table.rows.size(), path));
  output.set("output", path);
  return {};
}

// Of the GPU that the model knows of the arch.
Result<ExitCode> predict(Session& session, const TuneOptions& options, const std::vector<BenchModel>& models) {
  const Result<Arch> arch = parse_arch(options.predict);
  if (!arch) return arch.error();
  const model::Gpu& gpu = model::gpu_of_arch(*arch);
  Result<KernelModel> cycle_model = KernelModel::create(session.config(), gpu);
  if (!cycle_model) return cycle_model.error();
  Result<std::optional<OutputFile>> file = create_file(options.output);
  if (!file) return file.error();

  RouteTable table{.arch = *arch, .measured = false, .gpu = fmt::format("NVIDIA {}", gpu.name), .rows = {}};
  const std::vector<Timed> timed = timed_of(models, *arch, false);
  std::size_t left_out = 0;
  {
    ProgressBar progress(timed.size());
    for (const Timed& one : timed) {
      const Result<PlanTimes> times = predict_plans(session.kernels(), *cycle_model, one.shape, one.model);
      if (!times) return times.error();
      table.rows.push_back(predicted_row_of(*times));
      left_out += times->times.size() - table.rows.back().times.size();
      progress.advance(step_text(one));
    }
  }
  Output& output = session.output();
  output.set("gpu", table.gpu);
  output.set("calibrated", gpu.calibrated);
  output.set("left_out", left_out);
  output.set("counters", counters_json(session.kernels().counters()));
  if (*file) {
    output.row("model", model_text(gpu));
    output.row("left out",
               fmt::format("{} times, less than {:.0f} % below those of the default plan", left_out, 100 * model_error));
  }
  if (Status delivered = deliver(output, table, options.output, *file); !delivered) return delivered.error();
  return ExitCode::done;
}

Result<ExitCode> judge(Output& output, std::vector<PlanTimes> all, const RouteTable& table) {
  std::vector<RouteLoss> losses;
  Json json = Json::array();
  for (PlanTimes& times : all) {
    Result<RouteLoss> loss = route_loss(std::move(times), table);
    if (!loss) return loss.error();
    json.push_back(loss_json(*loss));
    losses.push_back(*std::move(loss));
  }
  const LossSummary summary = summary_of(losses);
  const bool passed = summary.worst <= most_loss;
  for (const std::string& line : loss_lines(losses)) output.line(line);
  output.row("loss", fmt::format("{}: mean {:.2f} %, worst {:.1f} % of {} sizes; at most {:.0f} % is allowed", passed ? "PASS" : "FAIL",
                                 100 * summary.mean, 100 * summary.worst, losses.size(), 100 * most_loss));
  output.set("losses", std::move(json));
  output.set("mean_loss", summary.mean);
  output.set("worst_loss", summary.worst);
  output.set("passed", passed);
  return passed ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace

Result<ExitCode> run_tune(Session& session, const TuneOptions& options) {
  const Result<std::vector<BenchModel>> models = models_of(options);
  if (!models) return models.error();
  if (!options.predict.empty()) return predict(session, options, *models);
  const Result<std::unique_ptr<CudaDevice>> device = open_gpu(session, options.device);
  if (!device) return device.error();
  Result<std::optional<OutputFile>> file = create_file(options.output);
  if (!file) return file.error();
  Output& output = session.output();
  const Arch arch = (*device)->arch();
  const std::string gpu = (*device)->context()->properties().name;
  output.set("device", (*device)->name());
  output.set("samples", options.samples);

  const std::vector<Timed> timed = timed_of(*models, arch, options.check);
  PlanTimer timer(**device, session.kernels(), {options.samples, options.seed});
  for (const Timed& one : timed) {
    const Result<bool> passed = timer.check(one.shape, one.model);
    if (!passed) return passed.error();
    if (*passed) continue;
    print_checks(output, timer.checks());
    output.set("passed", false);
    return ExitCode::check_failed;  // the speed of wrong scores is of no interest
  }
  output.set("checked", timer.checks().size());

  Result<GpuStopwatch> stopwatch = GpuStopwatch::create((*device)->context());
  if (!stopwatch) return stopwatch.error();
  Result<std::vector<PlanTimes>> all = time_all(timer, *stopwatch, timed);
  if (!all) return all.error();
  output.set("counters", counters_json(session.kernels().counters()));
  if (options.check) {
    output.row("device", (*device)->name());
    output.row("routes", session.routes().origin(arch));
    return judge(output, *std::move(all), session.routes().table(arch));
  }
  RouteTable table{.arch = arch, .measured = true, .gpu = gpu, .rows = {}};
  for (const PlanTimes& times : *all) table.rows.push_back(row_of(times));
  if (*file) output.row("device", (*device)->name());
  if (Status delivered = deliver(output, table, options.output, *file); !delivered) return delivered.error();
  return ExitCode::done;
}

}  // namespace mlaindex::tools
