#include "generator/model/prediction.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "generator/base/format.h"

namespace mlaindex::model {
namespace {

// The time of what runs under each other: more than the longest, the nearer the others come to it.
double overlapped(std::initializer_list<double> times, double order) {
  double sum = 0;
  const double longest = std::max(times);
  if (longest <= 0) return 0;
  for (const double time : times) sum += std::pow(time / longest, order);
  return longest * std::pow(sum, 1 / order);
}

bool keys_stay(const Plan& plan) { return plan.family == "k_resident"; }

TileClocks tile_clocks(const Spec& spec, const Plan& plan, const LoopCosts& loop, const TileShares& shares, const Gpu& gpu) {
  const double keys = plan.tile_keys, columns = shares.columns, depth = spec.depth;
  TileClocks tile;
  tile.tensor = keys * columns * depth / gpu.products_per_clock;

  // The threads of a quarter of an SM have a 128th of the tile's elements each.
  const double passes = keys * columns / 128 / loop.elements;
  PipeClocks of_pass = loop.other;
  of_pass += loop.fold * shares.folded_share;
  tile.warps = of_pass * passes;
  tile.warps.issue *= gpu.dispatch;

  // Each MMA reads both operands; what does not stay has been written before: the keys, or Q of a block.
  const double mma_columns = std::min<double>(plan.mma_n, columns);
  const double mmas = keys / plan.mma_m * std::max(1.0, columns / mma_columns);
  const double tiles_of_block = static_cast<double>(shares.total.tiles) / static_cast<double>(std::max<std::int64_t>(1, shares.total.blocks));
  const double written = keys_stay(plan) ? columns / std::max(1.0, tiles_of_block) : keys;
  tile.shared_memory = (mmas * (plan.mma_m + mma_columns) + written) * depth / gpu.shared_bytes_per_clock;

  const PipeClocks& warps = tile.warps;
  const double busiest = std::max({warps.issue, warps.alu, warps.fma, warps.lsu, warps.uniform});
  // Operands are read for the MMA that runs: shared memory limits, but costs nothing beside it.
  tile.time = std::max(overlapped({tile.tensor, busiest}, gpu.overlap), tile.shared_memory);
  return tile;
}

struct Bytes {
  double moved = 0;      // each input once, each score once: what memory sees at least
  double from_l2 = 0;    // keys for every block that reads them; where keys stay, queries for every CTA that reads them
};

Bytes count_bytes(const Spec& spec, const Plan& plan, const ProblemSize& size, const TileShares& shares) {
  const double key_bytes = spec.depth + 4;
  const double keys = static_cast<double>(size.num_keys) * (plan.family == "paged" ? size.num_requests : 1);
  const double queries = static_cast<double>(size.num_tokens) * spec.num_heads * (spec.depth + 4);
  const double scores = static_cast<double>(shares.pairs) * (spec.score_type == ScoreType::f32 ? 4 : 2);
  const double moved = keys * key_bytes + queries + scores;
  if (!keys_stay(plan)) return {moved, static_cast<double>(shares.total.tiles) * plan.tile_keys * key_bytes};
  const double query_loads = static_cast<double>(shares.total.blocks) * plan.tokens_per_block * spec.num_heads * (spec.depth + 4);
  return {moved, query_loads + static_cast<double>(shares.key_loads) * plan.key_stages * plan.tile_keys * spec.depth};
}

double start_clocks(const Plan& plan, const Gpu& gpu) {
  if (plan.family == "paged") return gpu.start_clocks_paged;
  return keys_stay(plan) ? gpu.start_clocks_resident : gpu.start_clocks;
}

// Blocks that start side by side: of sm_90a's kernel that keeps keys, one in each math warpgroup.
int blocks_at_a_time(const Plan& plan) {
  return keys_stay(plan) && plan.tensor_memory_columns == 0 ? plan.roles.front().num_warps / 4 : 1;
}

double clock_under_load(const Gpu& gpu, double tensor_share) {
  const double load = std::min(1.0, tensor_share / gpu.sustained_load);
  return gpu.gigahertz - (gpu.gigahertz - gpu.sustained_gigahertz) * load;
}

}  // namespace

std::string_view limiter_name(Limiter limiter) noexcept {
  switch (limiter) {
    case Limiter::tensor_pipe: return "tensor pipe";
    case Limiter::issue_slots: return "issue slots";
    case Limiter::fma_pipe: return "FMA pipe";
    case Limiter::alu_pipe: return "ALU pipe";
    case Limiter::lsu_pipe: return "LSU pipe";
    case Limiter::uniform_pipe: return "uniform pipe";
    case Limiter::shared_memory: return "shared memory";
    case Limiter::dram: return "DRAM";
    case Limiter::l2: return "L2";
    case Limiter::start_up: return "start-up";
    case Limiter::imbalance: return "imbalance";
  }
  return "";
}

Result<Prediction> predict(const Spec& spec, const Plan& plan, const LoopCosts& loop, const ProblemSize& size, const Gpu& gpu) {
  if (loop.elements <= 0) return Error{ErrorCode::invalid_argument, "a math loop that folds nothing", "see loop_costs"};
  if (gpu.arch != spec.arch) {
    return Error{ErrorCode::invalid_argument, fmt::format("{} runs no kernels for {}", gpu.name, arch_name(spec.arch)),
                 fmt::format("allowed: {}", arch_name(gpu.arch))};
  }
  Result<TileShares> shares = tile_shares(spec, plan, size, gpu.num_sms);
  if (!shares) return shares.error();

  Prediction result;
  result.shares = *shares;
  result.tile = tile_clocks(spec, plan, loop, *shares, gpu);
  const TileClocks& tile = result.tile;
  result.gigahertz = clock_under_load(gpu, tile.tensor / tile.time);
  const double clocks_per_us = result.gigahertz * 1e3;

  // CTAs that share an SM share its pipes.
  const double longest = static_cast<double>(shares->longest.tiles) * plan.ctas_per_sm;
  const double mean = static_cast<double>(shares->total.tiles) / std::min(shares->ctas, gpu.num_sms);
  const double block_starts = static_cast<double>(shares->longest.blocks) / blocks_at_a_time(plan);
  const double blocks_us = block_starts * gpu.block_start_clocks / clocks_per_us;
  const double tiles_us = longest * tile.time / clocks_per_us;

  const Bytes bytes = count_bytes(spec, plan, size, *shares);
  const double l2_us = bytes.from_l2 / gpu.l2_bytes_per_us;
  const double dram_us = bytes.moved > gpu.l2_bytes ? bytes.moved / gpu.dram_bytes_per_us : 0;
  const double start_us = gpu.launch_us + static_cast<double>(shares->waves) * start_clocks(plan, gpu) / (gpu.gigahertz * 1e3);

  // What comes from DRAM comes through L2.
  result.microseconds = start_us + overlapped({tiles_us + blocks_us, std::max(l2_us, dram_us)}, gpu.overlap);
  result.teraflops = 2.0 * static_cast<double>(shares->pairs) * spec.num_heads * spec.depth / result.microseconds / 1e6;
  const auto of_tiles = [&](double clocks) { return mean * clocks / clocks_per_us; };
  result.terms = {{Limiter::tensor_pipe, of_tiles(tile.tensor)},
                  {Limiter::issue_slots, of_tiles(tile.warps.issue)},
                  {Limiter::fma_pipe, of_tiles(tile.warps.fma)},
                  {Limiter::alu_pipe, of_tiles(tile.warps.alu)},
                  {Limiter::lsu_pipe, of_tiles(tile.warps.lsu)},
                  {Limiter::uniform_pipe, of_tiles(tile.warps.uniform)},
                  {Limiter::shared_memory, of_tiles(tile.shared_memory)},
                  {Limiter::dram, dram_us},
                  {Limiter::l2, l2_us},
                  {Limiter::start_up, start_us + blocks_us},
                  {Limiter::imbalance, std::max(0.0, (longest - mean) * tile.time / clocks_per_us)}};
  std::ranges::stable_sort(result.terms, std::ranges::greater{}, &Term::microseconds);
  return result;
}

}  // namespace mlaindex::model
