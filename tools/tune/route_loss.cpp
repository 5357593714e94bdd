#include "tools/tune/route_loss.h"

#include <algorithm>

#include "generator/base/format.h"

namespace mlaindex::tools {

Result<RouteLoss> route_loss(PlanTimes measured, const RouteTable& table) {
  const Result<Route> route = choose_route(measured.spec, measured.size, table);
  if (!route) return route.error();
  const std::vector<PlanTime>& times = measured.times;
  const auto chosen = std::find_if(times.begin(), times.end(), [&](const PlanTime& time) { return time.plan == route->plan.name; });
  if (chosen == times.end()) return Error{ErrorCode::internal, fmt::format("plan '{}' was not timed", route->plan.name), ""};
  const auto best = std::min_element(times.begin(), times.end(), [](const PlanTime& one, const PlanTime& other) {
    return one.microseconds < other.microseconds;
  });
  RouteLoss loss{{}, chosen->plan, best->plan, chosen->microseconds / best->microseconds - 1};
  loss.measured = std::move(measured);
  return loss;
}

LossSummary summary_of(const std::vector<RouteLoss>& losses) {
  if (losses.empty()) return {};
  LossSummary summary;
  for (const RouteLoss& loss : losses) {
    summary.mean += loss.loss;
    summary.worst = std::max(summary.worst, loss.loss);
  }
  summary.mean /= static_cast<double>(losses.size());
  return summary;
}

std::vector<std::string> loss_lines(const std::vector<RouteLoss>& losses) {
  std::vector<std::string> lines;
  if (losses.empty()) return lines;
  lines.push_back(fmt::format("{:<38} {:>5} {:>5}  {:<13} {:<13} {:>6}  times in us", "size", "heads", "depth", "chosen", "best", "loss"));
  for (const RouteLoss& loss : losses) {
    const PlanTimes& measured = loss.measured;
    std::string line = fmt::format("{:<38} {:>5} {:>5}  {:<13} {:<13} {:>5.1f}%",
                                   describe(measured.spec.layout, route_point(measured.spec.layout, measured.size)),
                                   measured.spec.num_heads, measured.spec.depth, loss.chosen, loss.best, 100 * loss.loss);
    for (const PlanTime& time : measured.times) line += fmt::format("  {}={:.4g}", time.plan, time.microseconds);
    lines.push_back(std::move(line));
  }
  return lines;
}

Json loss_json(const RouteLoss& loss) {
  Json times = Json::object();
  for (const PlanTime& time : loss.measured.times) times[time.plan] = time.microseconds;
  const ProblemSize& size = loss.measured.size;
  return {{"spec", to_string(loss.measured.spec)}, {"num_tokens", size.num_tokens}, {"num_keys", size.num_keys},
          {"num_requests", size.num_requests},     {"chosen", loss.chosen},         {"best", loss.best},
          {"loss", loss.loss},                     {"times_us", std::move(times)}};
}

}  // namespace mlaindex::tools
