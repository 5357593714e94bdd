#include "generator/resident_schedule.h"

#include <algorithm>
#include <bit>

namespace mlaindex {
namespace {

std::int64_t quotient_up(std::int64_t dividend, std::int64_t divisor) { return (dividend + divisor - 1) / divisor; }

std::uint32_t inverse(std::int64_t units) { return static_cast<std::uint32_t>(quotient_up(std::int64_t{1} << 31, units)); }

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
  std::int64_t parts(std::int64_t tile, std::uint32_t cta_of_unit, int log2_pieces) const {
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
    return 1 + static_cast<std::int64_t>(before_last * cta_of_unit >> 31);
  }

  std::int64_t ctas(std::int64_t units_of_cta, int log2_pieces) const {
    const std::uint32_t cta_of_unit = inverse(units_of_cta);
    if (!weighted_) return num_tiles() * parts(0, cta_of_unit, log2_pieces);
    std::int64_t ctas = 0;
    for (std::int64_t tile = 0; tile < num_tiles(); ++tile) ctas += parts(tile, cta_of_unit, log2_pieces);
    return ctas;
  }

  // The fewest with which the slots suffice, as there are fewer tiles.
  std::int64_t units_of_cta(std::int64_t slots, int log2_pieces) const {
    std::int64_t low = 1;
    std::int64_t high = num_blocks() << log2_pieces;  // a CTA for each tile
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (ctas(middle, log2_pieces) <= slots) {
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

ResidentSchedule resident_schedule(const Plan& plan, bool causal, const ProblemSize& size, std::int64_t slots) noexcept {
  const Batch batch(plan, causal, size);
  if (batch.num_tiles() >= slots) return {static_cast<int>(slots), 0, 0};
  const auto schedule = [&](std::int64_t units_of_cta, int log2_pieces) {
    return ResidentSchedule{static_cast<int>(batch.ctas(units_of_cta, log2_pieces)), inverse(units_of_cta), log2_pieces};
  };
  for (int log2_pieces = std::countr_zero(static_cast<unsigned>(plan.key_stages)); log2_pieces > 0; --log2_pieces)
    if (batch.ctas(1, log2_pieces) <= slots) return schedule(1, log2_pieces);
  if (batch.ctas(2, 1) <= slots) return schedule(2, 1);
  return schedule(batch.units_of_cta(slots, 0), 0);
}

std::vector<std::int64_t> parts_of_tiles(const Plan& plan, bool causal, const ProblemSize& size, const ResidentSchedule& schedule) {
  const Batch batch(plan, causal, size);
  std::vector<std::int64_t> parts(static_cast<std::size_t>(batch.num_tiles()), 1);
  if (batch.num_tiles() >= schedule.ctas) return parts;
  for (std::int64_t tile = 0; tile < batch.num_tiles(); ++tile)
    parts[static_cast<std::size_t>(tile)] = batch.parts(tile, schedule.cta_of_unit, schedule.log2_pieces);
  return parts;
}

}  // namespace mlaindex
