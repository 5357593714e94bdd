#include "generator/model/resident_shares.h"

#include <algorithm>
#include <tuple>

namespace mlaindex::model {

ResidentShares resident_shares(const std::vector<std::int64_t>& tiles_of_blocks, std::int64_t resident_tiles,
                               const std::vector<std::int64_t>& parts, int log2_pieces, std::int64_t num_ctas) {
  const auto num_sets = static_cast<std::int64_t>(parts.size());
  const auto num_blocks = static_cast<std::int64_t>(tiles_of_blocks.size());
  const std::int64_t piece_tiles = resident_tiles >> log2_pieces;
  ResidentShares result;
  std::vector<TileShare> ctas(static_cast<std::size_t>(num_ctas));
  std::int64_t first_cta = 0;
  for (std::int64_t set = 0; set < num_sets; ++set) {
    const std::int64_t parts_of_set = parts[static_cast<std::size_t>(set)];
    // CTAs with several sets take every num_ctas-th.
    if (num_sets >= num_ctas) first_cta = set % num_ctas;
    result.key_loads += parts_of_set;
    for (std::int64_t unit = 0; unit < num_blocks << log2_pieces; ++unit) {
      const std::int64_t block = num_blocks - 1 - (unit >> log2_pieces);
      const std::int64_t piece = unit & ((1 << log2_pieces) - 1);
      const std::int64_t place = unit % parts_of_set;  // forth and back among the parts
      const std::int64_t part = unit / parts_of_set % 2 == 0 ? place : parts_of_set - 1 - place;
      const std::int64_t first_tile = set * resident_tiles + piece * piece_tiles;
      const std::int64_t seen = std::clamp<std::int64_t>(tiles_of_blocks[static_cast<std::size_t>(block)] - first_tile, 0, piece_tiles);
      if (seen == 0) continue;
      for (TileShare* share : {&ctas[static_cast<std::size_t>(first_cta + part)], &result.total}) {
        share->tiles += seen;
        ++share->blocks;
      }
    }
    first_cta += parts_of_set;
  }
  result.longest = *std::ranges::max_element(ctas, {}, [](const TileShare& share) { return std::tuple(share.tiles, share.blocks); });
  return result;
}

}  // namespace mlaindex::model
