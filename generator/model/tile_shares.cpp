#include "generator/model/tile_shares.h"

#include <algorithm>
#include <tuple>

#include "generator/base/format.h"
#include "generator/model/resident_shares.h"
#include "generator/resident_schedule.h"

namespace mlaindex::model {
namespace {

// BLOCK_START_TILES of request_schedule.cuh and work_schedule.cuh.
std::int64_t block_start_tiles(const Plan& plan) { return plan.family == "paged" ? 2 : 1; }

std::int64_t quotient_up(std::int64_t dividend, std::int64_t divisor) { return (dividend + divisor - 1) / divisor; }

bool is_causal(Mask mask) { return mask == Mask::ragged_causal || mask == Mask::context; }

struct Request {
  std::int64_t tokens;
  std::int64_t keys;
  bool causal;

  std::int64_t visible(std::int64_t token) const { return causal ? std::max<std::int64_t>(0, keys - tokens + 1 + token) : keys; }
};

// Key tiles of each block of tokens of a request.
std::vector<std::int64_t> tiles_of_blocks(const Request& request, const Plan& plan) {
  std::vector<std::int64_t> tiles;
  for (std::int64_t token = 0; token < request.tokens; token += plan.tokens_per_block) {
    const std::int64_t last = std::min(request.tokens, token + plan.tokens_per_block) - 1;
    tiles.push_back(quotient_up(request.visible(last), plan.tile_keys));
  }
  return tiles;
}

// Every CTA takes a run of `length` places in the sequence of all blocks' tiles, each block behind the places
// that stand for its start.
TileShare longest_share(const std::vector<std::int64_t>& tiles, std::int64_t requests, std::int64_t start, std::int64_t length) {
  TileShare longest, current;
  std::int64_t position = 0, cta = 0;
  const auto finish = [&] {
    if (std::tie(current.tiles, current.blocks) > std::tie(longest.tiles, longest.blocks)) longest = current;
    current = {};
  };
  for (std::int64_t request = 0; request < requests; ++request) {
    for (const std::int64_t of_block : tiles) {
      if (of_block == 0) continue;
      std::int64_t from = position + start;
      position = from + of_block;
      while (from < position) {
        if (from / length != cta) {
          finish();
          cta = from / length;
        }
        const std::int64_t to = std::min(position, (cta + 1) * length);
        current.tiles += to - from;
        ++current.blocks;
        from = to;
      }
    }
  }
  finish();
  return longest;
}

// Columns that a block of so many tokens multiplies, and which of them it folds.
void count_columns(const Plan& plan, std::int64_t tokens, TileShares& shares) {
  const int all = plan.tokens_per_block * plan.padded_heads;
  shares.columns = all;
  if (plan.family != "paged") return;
  constexpr std::int64_t folded_together = 32;
  const std::int64_t used = std::min<std::int64_t>(tokens, plan.tokens_per_block) * plan.padded_heads;
  const std::int64_t folded = std::min<std::int64_t>(all, quotient_up(used, folded_together) * folded_together);
  // sm_90a multiplies whole groups of columns, sm_100a what is loaded.
  shares.columns = static_cast<int>(plan.tensor_memory_columns > 0 ? folded : quotient_up(used, plan.mma_n) * plan.mma_n);
  shares.folded_share = static_cast<double>(folded) / shares.columns;
}

}  // namespace

Result<TileShares> tile_shares(const Spec& spec, const Plan& plan, const ProblemSize& size, int num_sms) {
  const bool paged = plan.family == "paged";
  const bool keys_stay = plan.family == "k_resident";
  if (!paged && !keys_stay && plan.family != "q_resident") {
    return Error{ErrorCode::invalid_argument, fmt::format("the cycle model knows no plans of the family '{}'", plan.family),
                 "known: q_resident, k_resident, paged"};
  }
  const std::int64_t requests = paged ? size.num_requests : 1;
  if (size.num_tokens <= 0 || size.num_keys <= 0 || requests <= 0) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("a problem of {} tokens, {} keys{}", size.num_tokens, size.num_keys,
                             paged ? fmt::format(" and {} requests", size.num_requests) : ""),
                 paged ? "give --tokens, --keys and --requests of 1 or more" : "give --tokens and --keys of 1 or more"};
  }
  const Request request{quotient_up(size.num_tokens, requests), size.num_keys, is_causal(spec.mask)};
  const std::vector<std::int64_t> tiles = tiles_of_blocks(request, plan);
  TileShares shares;
  for (const std::int64_t of_block : tiles) {
    shares.total.tiles += of_block * requests;
    shares.total.blocks += of_block > 0 ? requests : 0;
  }
  for (std::int64_t token = 0; token < request.tokens; ++token) shares.pairs += request.visible(token) * requests;
  count_columns(plan, request.tokens, shares);

  const LaunchGrid grid = launch_grid(spec, plan, size, num_sms);
  const std::int64_t ctas = static_cast<std::int64_t>(grid.x) * grid.y;
  const std::int64_t slots = static_cast<std::int64_t>(num_sms) * plan.ctas_per_sm;
  shares.ctas = static_cast<int>(std::min(ctas, slots));
  if (keys_stay) {
    const ResidentSchedule schedule = resident_schedule(plan, request.causal, size, slots);
    const std::int64_t sets = quotient_up(size.num_keys, plan.key_stages * plan.tile_keys);
    const ResidentShares resident =
        schedule.in_sequence
            ? resident_shares(tiles, plan.key_stages, sets, schedule.units_of_cta, schedule.log2_pieces)
            : resident_shares(tiles, plan.key_stages, parts_of_tiles(plan, request.causal, size, schedule), schedule.log2_pieces);
    shares.total = resident.total;
    shares.longest = resident.longest;
    shares.key_loads = resident.key_loads;
  } else if (plan.persistent) {
    const std::int64_t start = block_start_tiles(plan);
    const std::int64_t places = shares.total.tiles + start * shares.total.blocks;
    shares.longest = longest_share(tiles, requests, start, std::max<std::int64_t>(1, quotient_up(places, ctas)));
  } else {
    shares.waves = quotient_up(ctas, slots);
    shares.longest = {shares.waves * quotient_up(*std::ranges::max_element(tiles), grid.y), shares.waves};
  }
  return shares;
}

}  // namespace mlaindex::model
