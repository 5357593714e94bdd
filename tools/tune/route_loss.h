// How far a route's choices are from the best plans.
#pragma once

#include <string>
#include <vector>

#include "tools/output.h"
#include "tools/tune/plan_times.h"

namespace mlaindex::tools {

struct RouteLoss {
  PlanTimes measured;
  std::string chosen, best;
  double loss = 0;  // time of the chosen plan over that of the best one, less 1
};

// By the table's choice for the spec and size. Errors: those of choose_route; internal when the choice was not timed.
Result<RouteLoss> route_loss(PlanTimes measured, const RouteTable& table);

struct LossSummary {
  double mean = 0, worst = 0;
};

LossSummary summary_of(const std::vector<RouteLoss>& losses);

// A line for each below a line of headings.
std::vector<std::string> loss_lines(const std::vector<RouteLoss>& losses);

Json loss_json(const RouteLoss& loss);

}  // namespace mlaindex::tools
