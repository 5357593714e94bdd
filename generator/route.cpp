#include "generator/route.h"

#include <algorithm>
#include <cmath>

#include "generator/base/format.h"
#include "generator/resident_schedule.h"

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

// Null: the row has no time of the plan.
const PlanTime* time_of(const RouteRow& row, std::string_view plan) noexcept {
  const auto time = std::find_if(row.times.begin(), row.times.end(), [&](const PlanTime& one) { return one.plan == plan; });
  return time == row.times.end() ? nullptr : &*time;
}

bool has_times_of(const RouteRow& row, const RouteRow& other, const std::vector<std::string_view>& allowed) noexcept {
  return std::all_of(other.times.begin(), other.times.end(), [&](const PlanTime& time) {
    return !has(allowed, time.plan) || time_of(row, time.plan) != nullptr;
  });
}

// Of the plans that the rows have, the one with the least geometric mean of its times. Empty: there is none.
std::string_view fastest_in(const std::vector<NearRow>& rows, const std::vector<std::string_view>& allowed) {
  std::string_view fastest;
  double least = 0;
  for (std::string_view plan : allowed) {
    double sum = 0;
    const bool known = !rows.empty() && std::all_of(rows.begin(), rows.end(), [&](const NearRow& near) {
      const PlanTime* time = time_of(*near.row, plan);
      if (time != nullptr) sum += near.weight * std::log(time->microseconds);
      return time != nullptr;
    });
    if (!known || (!fastest.empty() && sum >= least)) continue;
    fastest = plan;
    least = sum;
  }
  return fastest;
}

struct Choice {
  std::string_view plan;
  RouteBasis basis;
  std::vector<NearRow> rows = {};
};

Choice choose(const Spec& spec, const ProblemSize& size, const RouteTable& table,
              const std::vector<std::string_view>& allowed) {
  const std::string_view default_plan = allowed.front();
  if (allowed.size() == 1) return {default_plan, RouteBasis::only_plan};
  if (size.num_tokens <= 0 || size.num_keys <= 0 || (spec.layout == Layout::paged && size.num_requests <= 0))
    return {default_plan, RouteBasis::unknown_size};
  const RoutePoint point = route_point(spec.layout, size);
  std::vector<NearRow> rows = near_rows(table, spec, point);
  if (rows.size() == 2 && !has_times_of(*rows[1].row, *rows[0].row, allowed)) rows.pop_back();
  const std::string_view fastest = fastest_in(rows, allowed);
  if (!fastest.empty()) return {fastest, RouteBasis::table, std::move(rows)};
  const bool narrow = spec.layout == Layout::paged && has(allowed, narrow_plan) && fits_narrow_plan(spec, point);
  return {narrow ? narrow_plan : default_plan, RouteBasis::rule};
}

std::string explain_rows(const Route& route, const RouteTable& table) {
  std::string text;
  for (const NearRow& near : route.rows) {
    std::string own, others;
    for (const PlanTime& time : near.row->times) {
      if (time.plan == route.plan.name) own = fmt::format("{:.4g} us", time.microseconds);
      else if (has(route.candidates, time.plan))
        others += fmt::format("{}{:.4g} us of {}", others.empty() ? " against " : " and ", time.microseconds, time.plan);
    }
    text += fmt::format("{}{}{} at {}", text.empty() ? "" : ", ", own, others, describe(near.row->layout, near.row->point));
  }
  const RouteRow& nearest = *route.rows.front().row;
  return fmt::format("{} {}, {} heads, depth {} ({})", table.measured ? "measured" : "predicted", text,
                     nearest.padded_heads, nearest.depth, table.gpu);
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
  return Route{*std::move(plan), std::move(allowed), choice.basis, std::move(choice.rows)};
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
    case RouteBasis::table: why = explain_rows(route, table); break;
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

LaunchGrid launch_grid(const Spec& spec, const Plan& plan, const ProblemSize& size, int num_sms) noexcept {
  const long long own_blocks = plan.family == "paged" ? size.num_requests : 0;  // a block never spans requests
  const long long blocks =
      (static_cast<long long>(size.num_tokens) + plan.tokens_per_block - 1) / plan.tokens_per_block + own_blocks;
  const long long tiles = (static_cast<long long>(size.num_keys) + plan.tile_keys - 1) / plan.tile_keys;
  const long long slots = std::max(1LL, static_cast<long long>(num_sms) * plan.ctas_per_sm);
  if (blocks <= 0 || tiles <= 0) return {};
  if (plan.family == "k_resident") {
    const ResidentSchedule schedule = resident_schedule(plan, spec.mask == Mask::ragged_causal, size, slots);
    return {schedule.ctas, 1, schedule.unit_share(), schedule.in_sequence, static_cast<std::uint16_t>(schedule.log2_pieces)};
  }
  if (plan.persistent) return {static_cast<int>(std::min(slots, blocks * tiles)), 1};
  return {static_cast<int>(blocks), key_parts(blocks, tiles, slots)};
}

}  // namespace mlaindex
