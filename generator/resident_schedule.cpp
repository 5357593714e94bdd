#include "generator/resident_schedule.h"

#include <algorithm>
#include <bit>

namespace mlaindex {
namespace {

std::int64_t quotient_up(std::int64_t dividend, std::int64_t divisor) { return (dividend + divisor - 1) / divisor; }

std::uint32_t reciprocal(std::int64_t units) { return static_cast<std::uint32_t>(quotient_up(std::int64_t{1} << 31, units)); }

constexpr std::int64_t most_units = 0x7fffffff;  // of a CTA; for more the GPU has no memory for the scores

// The problem as one request, in tiles and blocks of a plan.
class Batch {
 public:
  Batch(const Plan& plan, bool causal, const ProblemSize& size)
      : num_keys_(size.num_keys),
        num_tokens_(size.num_tokens),
        block_tokens_(plan.tokens_per_block),
        subtile_keys_(plan.tile_keys),
        tile_subtiles_(plan.key_stages) {
    constexpr std::int64_t most_weighted = 32;  // a lane each
    weighted_ = causal && num_tiles() <= most_weighted;
  }

  std::int64_t num_tiles() const { return quotient_up(num_keys_, subtile_keys_ * tile_subtiles_); }
  std::int64_t num_blocks() const { return quotient_up(num_tokens_, block_tokens_); }

  // CTAs of a tile.
  std::int64_t parts(std::int64_t tile, std::uint32_t share, int log2_pieces) const {
    std::int64_t units = num_blocks() << log2_pieces;
    if (weighted_) {
      units = 0;
      for (int piece = 0; piece < 1 << log2_pieces; ++piece) {
        const std::int64_t first_key = (tile * tile_subtiles_ + piece * (tile_subtiles_ >> log2_pieces)) * subtile_keys_;
        const std::int64_t tokens = std::min(num_tokens_, num_keys_ - first_key);  // that see it: the last ones
        if (tokens > 0) units += num_blocks() - (num_tokens_ - tokens) / block_tokens_;
      }
    }
    const auto before_last = static_cast<std::uint64_t>(std::max<std::int64_t>(0, units - 1));
    return 1 + static_cast<std::int64_t>(before_last * share >> 31);
  }

  std::int64_t ctas(std::int64_t units_of_cta, int log2_pieces) const {
    const std::uint32_t share = reciprocal(units_of_cta);
    if (!weighted_) return num_tiles() * parts(0, share, log2_pieces);
    std::int64_t ctas = 0;
    for (std::int64_t tile = 0; tile < num_tiles(); ++tile) ctas += parts(tile, share, log2_pieces);
    return ctas;
  }

  std::int64_t units(int log2_pieces) const { return num_tiles() * (num_blocks() << log2_pieces); }

  // The fewest whole ones with which the slots suffice, where every tile has CTAs of its own. There are fewer tiles.
  std::int64_t units_of_own_cta(std::int64_t slots) const {
    std::int64_t low = 1;
    std::int64_t high = num_blocks();  // a CTA for each tile
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (ctas(middle, 0) <= slots) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

 private:
  std::int64_t num_keys_, num_tokens_, block_tokens_, subtile_keys_, tile_subtiles_;
  bool weighted_ = false;
};

}  // namespace

std::uint32_t ResidentSchedule::unit_share() const noexcept {
  return in_sequence ? static_cast<std::uint32_t>(units_of_cta) : reciprocal(units_of_cta);
}

ResidentSchedule resident_schedule(const Plan& plan, bool causal, const ProblemSize& size, std::int64_t slots) noexcept {
  const Batch batch(plan, causal, size);
  const auto schedule = [&](std::int64_t ctas, std::int64_t units_of_cta, bool in_sequence, int log2_pieces) {
    const std::int64_t units = std::min(units_of_cta, most_units);
    return ResidentSchedule{static_cast<int>(ctas), static_cast<int>(units), in_sequence, log2_pieces};
  };
  // In sequence also where runs end as tiles do, because a CTA finds them faster.
  const auto own_ctas = [&](std::int64_t units_of_cta, int log2_pieces) {
    const std::int64_t runs = batch.units(log2_pieces) / units_of_cta;
    const bool end_as_tiles_do = (batch.num_blocks() << log2_pieces) % units_of_cta == 0;
    if (end_as_tiles_do && runs <= slots) return schedule(runs, units_of_cta, true, log2_pieces);
    return schedule(batch.ctas(units_of_cta, log2_pieces), units_of_cta, false, log2_pieces);
  };
  // Pieces that leave no more units than larger ones would cost time for nothing.
  const auto worth_it = [&](int log2_pieces) {
    const std::int64_t ctas = batch.ctas(1, log2_pieces);
    return ctas <= slots && ctas > batch.ctas(1, log2_pieces - 1);
  };
  for (int log2_pieces = std::countr_zero(static_cast<unsigned>(plan.key_stages)); log2_pieces > 0; --log2_pieces)
    if (worth_it(log2_pieces)) return own_ctas(1, log2_pieces);
  if (batch.ctas(1, 1) > slots && batch.ctas(2, 1) <= slots) return own_ctas(2, 1);
  const std::int64_t of_run = quotient_up(batch.units(0), slots);
  if (batch.num_tiles() < slots) {
    const std::int64_t of_own = batch.units_of_own_cta(slots);
    if (of_own <= of_run) return own_ctas(of_own, 0);
  }
  return schedule(quotient_up(batch.units(0), of_run), of_run, true, 0);
}

std::vector<std::int64_t> parts_of_tiles(const Plan& plan, bool causal, const ProblemSize& size, const ResidentSchedule& schedule) {
  const Batch batch(plan, causal, size);
  std::vector<std::int64_t> parts(static_cast<std::size_t>(batch.num_tiles()), 1);
  for (std::int64_t tile = 0; tile < batch.num_tiles(); ++tile)
    parts[static_cast<std::size_t>(tile)] = batch.parts(tile, schedule.unit_share(), schedule.log2_pieces);
  return parts;
}

}  // namespace mlaindex
