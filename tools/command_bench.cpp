#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "generator/base/format.h"
#include "tools/bench/bench_run.h"
#include "tools/bench/open_gpu.h"
#include "tools/commands.h"
#include "tools/kernel_report.h"
#include "tools/output_file.h"
#include "tools/presets.h"
#include "tools/progress_bar.h"

namespace mlaindex::tools {
namespace {

constexpr std::array both_families{BenchFamily::prefill, BenchFamily::decode};

struct Timed {
  BenchShape shape;
  BenchModel model;
};

Result<std::vector<BenchModel>> models_of(const BenchOptions& options) {
  const Result<ScoreType> score_type = parse_score_type(options.score_type);
  if (!score_type) return score_type.error();
  const Result<Fill> fill = parse_fill(options.fill);
  if (!fill) return fill.error();
  const Result<FoldType> fold = parse_fold(options.fold);
  if (!fold) return fold.error();
  std::vector<std::pair<int, int>> shapes;  // heads, depth
  const auto add = [&](int num_heads, int depth) {
    const std::pair shape(num_heads, depth);
    if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
  };
  std::vector<std::string> names = options.presets;
  if (names.empty() && options.num_heads.empty()) names.emplace_back(presets.front().name);
  for (const std::string& name : names) {
    const Result<Preset> preset = find_preset(name);
    if (!preset) return preset.error();
    add(preset->num_heads, preset->depth);
  }
  for (int num_heads : options.num_heads) add(num_heads, options.depth);
  std::vector<BenchModel> models;
  for (const auto& [num_heads, depth] : shapes) {
    models.push_back({num_heads, depth, options.page_size, *score_type, *fill, *fold});
    for (const Layout layout : {Layout::contiguous, Layout::paged}) {
      const bool paged = layout == Layout::paged;
      const Spec spec{.num_heads = num_heads, .depth = depth, .mask = paged ? Mask::context : Mask::ragged_causal,
                      .layout = layout, .page_size = paged ? options.page_size : 0};
      if (Status valid = validate(spec); !valid) return valid.error();
    }
  }
  return models;
}

Result<std::vector<BenchShape>> shapes_of(const BenchOptions& options) {
  std::vector<BenchShape> shapes;
  const bool all = options.prefill.empty() && options.decode.empty();
  for (const BenchFamily family : both_families) {
    for (const std::string& text : family == BenchFamily::prefill ? options.prefill : options.decode) {
      const Result<BenchShape> shape = parse_bench_shape(family, text);
      if (!shape) return shape.error();
      shapes.push_back(*shape);
    }
    if (!all) continue;
    for (const BenchShape& shape : default_bench_shapes(family)) shapes.push_back(shape);
  }
  return shapes;
}

// Every shape of every model, family by family.
Result<std::vector<Timed>> timed_of(const BenchOptions& options) {
  if (options.samples < least_bench_samples || options.samples > max_bench_samples) {
    return Error{ErrorCode::invalid_argument, fmt::format("--samples {}", options.samples),
                 fmt::format("allowed: {} to {}", least_bench_samples, max_bench_samples)};
  }
  const Result<std::vector<BenchModel>> models = models_of(options);
  if (!models) return models.error();
  const Result<std::vector<BenchShape>> shapes = shapes_of(options);
  if (!shapes) return shapes.error();
  std::vector<Timed> timed;
  for (const BenchFamily family : both_families) {
    for (const BenchModel& model : *models) {
      for (const BenchShape& shape : *shapes) {
        if (shape.family == family) timed.push_back({shape, model});
      }
    }
  }
  return timed;
}

void print_device(Output& output, const CudaDevice& device, const BenchOptions& options) {
  const DeviceProperties& properties = device.context()->properties();
  output.row("device", fmt::format("{}, {} SMs, {} MiB of L2", device.name(), properties.num_sms, properties.l2_bytes >> 20));
  output.row("samples", fmt::format("{} of each timing: median (10th-90th percentile)", options.samples));
  output.set("device", device.name());
  output.set("num_sms", properties.num_sms);
  output.set("l2_bytes", properties.l2_bytes);
  output.set("samples", options.samples);
  output.set("seed", options.seed);
}

void print_roofs(Output& output, const Roofs& roofs) {
  output.row("roofs", fmt::format("read {:.2f} TB/s; copy {:.2f} TB/s, read and written; e4m3 {:.0f} TFLOP/s (data sheet)\n"
                                  "two events with nothing in between: {:.2f} us, part of every cold time",
                                  roofs.read / 1e12, roofs.copy / 1e12, roofs.tensor / 1e12, roofs.event_gap.median));
  output.set("roofs", roofs_json(roofs));
}

void print_results(Output& output, const std::vector<BenchResult>& results, const Roofs& roofs) {
  Json json = Json::array();
  for (const BenchResult& result : results) json.push_back(result_json(result, roofs));
  output.set("results", std::move(json));
  for (const BenchFamily family : both_families) {
    std::vector<BenchResult> of_family;
    std::copy_if(results.begin(), results.end(), std::back_inserter(of_family),
                 [&](const BenchResult& result) { return result.shape.family == family; });
    if (of_family.empty()) continue;
    output.line();
    output.line(family == BenchFamily::prefill
                    ? "prefill: contiguous keys, ragged and causal"
                    : fmt::format("decode: pages of {} keys; contexts of several requests from 0.7 to 1.3 of the mean",
                                  of_family.front().model.page_size));
    for (const std::string& line : bench_table(of_family, roofs)) output.line(line);
  }
  output.line();
  output.line("TFLOP/s, GB/s and shares are those of warm graphs. GB/s: every operand read once, every score written\n"
              "once; keys that fit in L2 can exceed the read rate. roof: the longer of bytes at the read rate and\n"
              "operations at the data sheet's rate.");
}

// Times everything, or ends at the first failure; `results` has what was timed either way.
Status time_all(BenchRun& run, GpuStopwatch& stopwatch, const std::vector<Timed>& timed, std::vector<BenchResult>& results) {
  ProgressBar progress(timed.size());
  for (const Timed& one : timed) {
    Result<BenchResult> result = run.time(stopwatch, one.shape, one.model);
    if (!result) return result.error();
    results.push_back(*std::move(result));
    progress.advance(fmt::format("{} {} {} heads", bench_family_name(one.shape.family), to_string(one.shape), one.model.num_heads));
  }
  return {};
}

Status write_plot(Output& output, OutputFile& file, const std::string& path, const std::vector<BenchResult>& results,
                  const Roofs& roofs, const std::string& device) {
  const std::string svg = svg_plot(bench_panels(results, roofs, device));
  if (Status written = file.write(svg.data(), svg.size()); !written) return written;
  if (Status committed = file.commit(); !committed) return committed;
  output.row("plot", path);
  output.set("plot", path);
  return {};
}

}  // namespace

Result<ExitCode> run_bench(Session& session, const BenchOptions& options) {
  const Result<std::vector<Timed>> timed = timed_of(options);
  if (!timed) return timed.error();
  const Result<std::unique_ptr<CudaDevice>> device = open_gpu(session, options.device);
  if (!device) return device.error();
  std::optional<OutputFile> plot;
  if (!options.plot.empty()) {  // before minutes of work
    Result<OutputFile> file = OutputFile::create(options.plot);
    if (!file) return file.error();
    plot.emplace(*std::move(file));
  }

  Output& output = session.output();
  print_device(output, **device, options);
  BenchRun run(**device, session.kernels(), {options.samples, options.seed});
  bool passed = true;
  for (const Timed& one : *timed) {
    const Result<bool> checked = run.check(one.shape, one.model);
    if (!checked) return checked.error();
    passed = *checked;
  }
  print_checks(output, run.checks());
  output.set("passed", passed);
  output.set("counters", counters_json(session.kernels().counters()));
  if (!passed) return ExitCode::check_failed;  // the speed of wrong scores is of no interest

  const std::shared_ptr<const Context>& context = (*device)->context();
  Result<GpuStopwatch> stopwatch = GpuStopwatch::create(context);
  if (!stopwatch) return stopwatch.error();
  const std::unique_ptr<Compiler> compiler = make_nvrtc_compiler(session.config());
  const Result<Roofs> roofs = measure_roofs(context, *stopwatch, *compiler, (*device)->arch(),
                                            roof_buffer_bytes(context->properties().memory_bytes), options.samples);
  if (!roofs) return roofs.error();
  print_roofs(output, *roofs);

  std::vector<BenchResult> results;
  const Status timed_all = time_all(run, *stopwatch, *timed, results);
  print_results(output, results, *roofs);
  output.set("counters", counters_json(session.kernels().counters()));
  if (!timed_all) return timed_all.error();
  if (plot) {
    if (Status drawn = write_plot(output, *plot, options.plot, results, *roofs, (*device)->name()); !drawn)
      return drawn.error();
  }
  return ExitCode::done;
}

}  // namespace mlaindex::tools
