#include "generator/route.h"

#include <algorithm>

#include "generator/base/format.h"
#include "generator/route_table.h"

namespace mlaindex {

namespace {

constexpr std::string_view narrow_plan = "paged_narrow";
constexpr int narrow_columns = 64;

// Where a table says nothing: twice as many columns would be computed for nothing.
bool fits_narrow_plan(const Spec& spec, const RoutePoint& point) noexcept {
  return static_cast<long long>(point.tokens) * std::max(8, padded_heads(spec.num_heads)) <= narrow_columns;
}

bool has(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const PlanTime* fastest_of(const RouteRow& row, const std::vector<std::string_view>& allowed) {
  const PlanTime* fastest = nullptr;
  for (const PlanTime& time : row.times) {
    if (has(allowed, time.plan) && (fastest == nullptr || time.microseconds < fastest->microseconds)) fastest = &time;
  }
  return fastest;
}

struct Choice {
  std::string_view plan;
  RouteBasis basis;
  const RouteRow* row = nullptr;
};

Choice choose(const Spec& spec, const ProblemSize& size, const RouteTable& table,
              const std::vector<std::string_view>& allowed) {
  const std::string_view default_plan = allowed.front();
  if (allowed.size() == 1) return {default_plan, RouteBasis::only_plan};
  if (size.num_tokens <= 0 || size.num_keys <= 0 || (spec.layout == Layout::paged && size.num_requests <= 0))
    return {default_plan, RouteBasis::unknown_size};
  const RoutePoint point = route_point(spec.layout, size);
  const RouteRow* row = nearest_row(table, spec, point);
  const PlanTime* fastest = row == nullptr ? nullptr : fastest_of(*row, allowed);
  if (fastest != nullptr) return {fastest->plan, RouteBasis::table, row};
  const bool narrow = spec.layout == Layout::paged && has(allowed, narrow_plan) && fits_narrow_plan(spec, point);
  return {narrow ? narrow_plan : default_plan, RouteBasis::rule};
}

std::string explain_row(const Route& route, const RouteTable& table) {
  const RouteRow& row = *route.row;
  std::string own, others;
  for (const PlanTime& time : row.times) {
    if (time.plan == route.plan.name) own = fmt::format("{:.4g} us", time.microseconds);
    else if (has(route.candidates, time.plan))
      others += fmt::format("{}{:.4g} us of {}", others.empty() ? " against " : " and ", time.microseconds, time.plan);
  }
  return fmt::format("{} {}{} at {}, {} heads, depth {} ({})", table.measured ? "measured" : "predicted", own, others,
                     describe(row.layout, row.point), row.padded_heads, row.depth, table.gpu);
}

}  // namespace

RoutePoint route_point(Layout layout, const ProblemSize& size) noexcept {
  const int requests = std::max(1, size.num_requests);
  if (layout == Layout::contiguous) return {1, size.num_tokens, std::max(1, size.num_keys / requests)};
  const int tokens = static_cast<int>((static_cast<long long>(size.num_tokens) + requests - 1) / requests);
  return {requests, std::max(1, tokens), size.num_keys};
}

Result<Route> choose_route(const Spec& spec, const ProblemSize& size, const RouteTable& table) {
  if (Status valid = validate(spec); !valid) return valid.error();
  std::vector<std::string_view> allowed = routable_plans(spec, size.num_requests);
  Choice choice{{}, RouteBasis::only_plan};
  if (!allowed.empty()) choice = choose(spec, size, table, allowed);
  // No plan takes the spec: make_plan says why of the default one.
  Result<Plan> plan = make_plan(spec, allowed.empty() ? routable_plans(spec.arch, spec.layout).front() : choice.plan);
  if (!plan) return plan.error();
  if (Status legal = check_plan(*plan, spec.arch); !legal) return legal.error();
  return Route{*std::move(plan), std::move(allowed), choice.basis, choice.row};
}

Result<Plan> route(const Spec& spec, const ProblemSize& size) {
  Result<Route> chosen = choose_route(spec, size, shipped_route_table(spec.arch));
  if (!chosen) return chosen.error();
  return std::move(chosen->plan);
}

std::string explain_route(const Route& route, const RouteTable& table) {
  std::string why;
  switch (route.basis) {
    case RouteBasis::only_plan: why = "there is no other"; break;
    case RouteBasis::unknown_size: why = "the default one, as no size is known"; break;
    case RouteBasis::rule: why = "by the rule for columns, as no time is known"; break;
    case RouteBasis::table: why = explain_row(route, table); break;
  }
  return fmt::format("{}: {}", route.plan.name, why);
}

namespace {

// Parts that keep the time of a launch, in tiles, lowest: waves of CTAs, each its share of the tiles
// plus a fixed start (the barriers, the Q tile, the first key) worth about as much as eight tiles.
// Candidates are one part, and the most parts that fit one to four waves: others have more starts or
// emptier waves.
int key_parts(long long blocks, long long tiles, long long slots) noexcept {
  constexpr long long start_tiles = 8;
  constexpr long long most_waves = 4;
  constexpr long long most_parts = 65535;  // the grid's limit in y
  long long best_parts = 1;
  long long best_time = (blocks + slots - 1) / slots * (tiles + start_tiles);
  for (long long waves = 1; waves <= most_waves; ++waves) {
    const long long parts = std::min({waves * slots / blocks, tiles, most_parts});
    if (parts <= best_parts) continue;
    const long long time = (blocks * parts + slots - 1) / slots * ((tiles + parts - 1) / parts + start_tiles);
    if (time < best_time) {
      best_parts = parts;
      best_time = time;
    }
  }
  return static_cast<int>(best_parts);
}

}  // namespace

LaunchGrid launch_grid(const Plan& plan, const ProblemSize& size, int num_sms) noexcept {
  const long long own_blocks = plan.family == "paged" ? size.num_requests : 0;  // a block never spans requests
  const long long blocks =
      (static_cast<long long>(size.num_tokens) + plan.tokens_per_block - 1) / plan.tokens_per_block + own_blocks;
  const long long tile_keys = plan.family == "k_resident" ? plan.key_stages * plan.tile_keys : plan.tile_keys;
  const long long tiles = (static_cast<long long>(size.num_keys) + tile_keys - 1) / tile_keys;
  const long long slots = std::max(1LL, static_cast<long long>(num_sms) * plan.ctas_per_sm);
  if (blocks <= 0 || tiles <= 0) return {};
  if (plan.persistent) return {static_cast<int>(std::min(slots, blocks * tiles)), 1};
  return {static_cast<int>(blocks), key_parts(blocks, tiles, slots)};
}

}  // namespace mlaindex
