#include "generator/route.h"

#include <algorithm>

namespace mlaindex {

Result<Plan> route(const Spec& spec) {
  if (Status valid = validate(spec); !valid) return valid.error();
  Result<Plan> plan = make_plan(spec, plan_names(spec.arch).front());
  if (!plan) return plan;
  if (Status legal = check_plan(*plan, spec.arch); !legal) return legal.error();
  return plan;
}

int key_splits(const Plan& plan, const ProblemSize& size, int num_sms) noexcept {
  const long long blocks = (static_cast<long long>(size.num_tokens) + plan.tokens_per_block - 1) / plan.tokens_per_block;
  const long long tiles = (static_cast<long long>(size.num_keys) + plan.tile_keys - 1) / plan.tile_keys;
  const long long slots = static_cast<long long>(num_sms) * plan.ctas_per_sm;
  if (blocks <= 0 || tiles <= 1 || slots <= 0) return 1;

  // Time of a launch in tiles: waves of CTAs, each its share of the tiles plus a fixed start (the
  // barriers, the Q tile, the first key) worth about as much as eight tiles. Candidates are one part,
  // and the most parts that fit one to four waves: others have more starts or emptier waves.
  constexpr long long start_tiles = 8;
  constexpr long long most_waves = 4;
  long long best_parts = 1;
  long long best_time = (blocks + slots - 1) / slots * (tiles + start_tiles);
  for (long long waves = 1; waves <= most_waves; ++waves) {
    const long long parts = std::min({waves * slots / blocks, tiles, 65535LL});
    if (parts <= best_parts) continue;
    const long long time = (blocks * parts + slots - 1) / slots * ((tiles + parts - 1) / parts + start_tiles);
    if (time < best_time) {
      best_parts = parts;
      best_time = time;
    }
  }
  return static_cast<int>(best_parts);
}

}  // namespace mlaindex
