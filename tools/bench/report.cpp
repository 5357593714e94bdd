#include "tools/bench/report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "generator/base/format.h"

namespace mlaindex::tools {
namespace {

double rate(double amount, const Spread& microseconds) noexcept {
  return microseconds.median > 0 ? amount / microseconds.median * 1e6 : 0;
}

double share(double part, double whole) noexcept { return whole > 0 ? part / whole : 0; }

// At least three digits.
std::string time_text(double microseconds) {
  return fmt::format("{:.{}f}", microseconds, microseconds < 10 ? 2 : microseconds < 1000 ? 1 : 0);
}

std::string spread_text(const Spread& spread) {
  return fmt::format("{} ({}-{})", time_text(spread.median), time_text(spread.low), time_text(spread.high));
}

// Columns aligned to the right, two blanks between.
std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{}{:>{}}", i == 0 ? "" : "  ", row[i], widths[i]);
    lines.push_back(std::move(line));
  }
  return lines;
}

Json spread_json(const Spread& spread) {
  return {{"median", spread.median}, {"p10", spread.low}, {"p90", spread.high}, {"min", spread.least},
          {"samples", spread.samples}};
}

std::string curve_label(const BenchShape& shape) {
  if (shape.family == BenchFamily::prefill) return fmt::format("{} tokens", shape.tokens);
  return fmt::format("{} request{} x {}", shape.requests, shape.requests == 1 ? "" : "s", shape.tokens);
}

std::string panel_title(const BenchResult& result, const std::string& device) {
  return fmt::format("{}, {} heads, depth {}, {} scores{}, {}", bench_family_name(result.shape.family),
                     result.model.num_heads, result.model.depth, score_type_name(result.model.score_type),
                     result.model.fold == FoldType::f32 ? "" : fmt::format(", {} fold", fold_name(result.model.fold)), device);
}

}  // namespace

double roof_microseconds(const BenchWork& work, const Roofs& roofs) noexcept {
  return 1e6 * std::max(share(work.bytes, roofs.read), share(work.operations, roofs.tensor));
}

std::vector<std::string> bench_table(const std::vector<BenchResult>& results, const Roofs& roofs) {
  if (results.empty()) return {};
  const bool prefill = results.front().shape.family == BenchFamily::prefill;
  std::vector<std::vector<std::string>> rows{
      {"", "", "warm L2, us", "", "cold L2, us", "", "host", "", "of", "", "of", "of"},
      {prefill ? "tokens x keys" : "requests x next_n x context", "heads", "graph", "launches", "graph", "launch", "us",
       "TFLOP/s", "tensor", "GB/s", "read", "roof"}};
  for (const BenchResult& result : results) {
    const LaunchTimes& times = result.times;
    const double operations = rate(result.work.operations, times.warm_graph);
    const double bytes = rate(result.work.bytes, times.warm_graph);
    rows.push_back({to_string(result.shape), fmt::format("{}", result.model.num_heads), spread_text(times.warm_graph),
                    time_text(times.warm_launches.median), spread_text(times.cold_graph),
                    time_text(times.cold_launch.median), time_text(times.host.median),
                    fmt::format("{:.0f}", operations / 1e12), fmt::format("{:.2f}", share(operations, roofs.tensor)),
                    fmt::format("{:.0f}", bytes / 1e9), fmt::format("{:.2f}", share(bytes, roofs.read)),
                    fmt::format("{:.2f}", share(roof_microseconds(result.work, roofs), times.warm_graph.median))});
  }
  return aligned(rows);
}

Json roofs_json(const Roofs& roofs) {
  return {{"read_bytes_per_second", roofs.read},
          {"copy_bytes_per_second", roofs.copy},
          {"published_tensor_operations_per_second", roofs.tensor},
          {"event_gap_us", spread_json(roofs.event_gap)}};
}

Json result_json(const BenchResult& result, const Roofs& roofs) {
  const BenchShape& shape = result.shape;
  const LaunchTimes& times = result.times;
  const double operations = rate(result.work.operations, times.warm_graph);
  const double bytes = rate(result.work.bytes, times.warm_graph);
  return {{"family", bench_family_name(shape.family)},
          {"shape", to_string(shape)},
          {"requests", shape.requests},
          {"tokens_per_request", shape.tokens},
          {"context", shape.context},
          {"heads", result.model.num_heads},
          {"depth", result.model.depth},
          {"page_size", shape.family == BenchFamily::decode ? result.model.page_size : 0},
          {"score_type", score_type_name(result.model.score_type)},
          {"fill", fill_name(result.model.fill)},
          {"fold", fold_name(result.model.fold)},
          {"kernel", result.kernel},
          {"plan", result.plan},
          {"scores", result.work.scores},
          {"operations", result.work.operations},
          {"bytes", result.work.bytes},
          {"times_us",
           {{"warm_graph", spread_json(times.warm_graph)},
            {"warm_launches", spread_json(times.warm_launches)},
            {"cold_graph", spread_json(times.cold_graph)},
            {"cold_launch", spread_json(times.cold_launch)},
            {"host_launch", spread_json(times.host)}}},
          {"launches_per_warm_sample", times.launches_per_sample},
          {"operations_per_second", operations},
          {"bytes_per_second", bytes},
          {"of_tensor", share(operations, roofs.tensor)},
          {"of_read", share(bytes, roofs.read)},
          {"roof_us", roof_microseconds(result.work, roofs)}};
}

std::vector<PlotPanel> bench_panels(const std::vector<BenchResult>& results, const Roofs& roofs,
                                    const std::string& device) {
  struct Curve {
    PlotSeries time, roof;
  };
  struct Panel {
    PlotPanel panel;
    std::map<std::tuple<std::int64_t, std::int64_t>, Curve> curves;  // by requests and tokens
  };
  std::map<std::tuple<BenchFamily, int, int>, Panel> panels;
  for (const BenchResult& result : results) {
    const BenchShape& shape = result.shape;
    Panel& panel = panels[{shape.family, result.model.num_heads, result.model.depth}];
    panel.panel = {panel_title(result, device),
                   shape.family == BenchFamily::prefill ? "keys" : "context: keys of a request",
                   "microseconds a launch (warm L2, graph); dashed: the roof", {}};
    Curve& curve = panel.curves[{shape.requests, shape.tokens}];
    curve.time.label = curve_label(shape);
    curve.roof.is_roof = true;
    const auto context = static_cast<double>(shape.context);
    curve.time.points.push_back({context, result.times.warm_graph.median});
    curve.roof.points.push_back({context, roof_microseconds(result.work, roofs)});
  }
  const auto sort = [](PlotSeries& series) {
    std::stable_sort(series.points.begin(), series.points.end(),
                     [](const PlotPoint& a, const PlotPoint& b) { return a.x < b.x; });
  };
  std::vector<PlotPanel> drawn;
  for (auto& [key, panel] : panels) {
    for (auto& [batch, curve] : panel.curves) {
      sort(curve.time);
      sort(curve.roof);
      panel.panel.series.push_back(std::move(curve.time));
      panel.panel.series.push_back(std::move(curve.roof));
    }
    drawn.push_back(std::move(panel.panel));
  }
  return drawn;
}

}  // namespace mlaindex::tools
