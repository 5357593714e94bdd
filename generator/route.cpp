#include "generator/route.h"

#include <algorithm>

#include <fmt/format.h>

namespace mlaindex {

namespace {

// Paged: where the tokens of a request fill no more than 64 columns, twice as many would be computed for
// nothing. Measured: docs/measurements.md.
bool fits_narrow_plan(const Spec& spec, const ProblemSize& size) noexcept {
  if (spec.layout != Layout::paged || size.num_requests == 0) return false;
  const int tokens = (size.num_tokens + size.num_requests - 1) / size.num_requests;
  return static_cast<long long>(tokens) * std::max(8, padded_heads(spec.num_heads)) <= 64;
}

}  // namespace

Result<Plan> route(const Spec& spec, const ProblemSize& size) {
  if (Status valid = validate(spec); !valid) return valid.error();
  const std::vector<std::string> names = plan_names(spec.arch, spec.layout);
  const bool narrow = names.size() > 1 && fits_narrow_plan(spec, size);
  Result<Plan> plan = make_plan(spec, narrow ? names[1] : names[0]);
  if (!plan) return plan;
  if (Status legal = check_plan(*plan, spec.arch); !legal) return legal.error();
  return plan;
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
  const long long tiles = (static_cast<long long>(size.num_keys) + plan.tile_keys - 1) / plan.tile_keys;
  const long long slots = std::max(1LL, static_cast<long long>(num_sms) * plan.ctas_per_sm);
  if (blocks <= 0 || tiles <= 0) return {};
  if (plan.persistent) return {static_cast<int>(std::min(slots, blocks * tiles)), 1};
  return {static_cast<int>(blocks), key_parts(blocks, tiles, slots)};
}

}  // namespace mlaindex
