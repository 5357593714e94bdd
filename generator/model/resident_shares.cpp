#include "generator/model/resident_shares.h"

#include <algorithm>
#include <tuple>

namespace mlaindex::model {
namespace {

// Key tiles of a set's unit: of its first piece come first, and of these the last blocks.
std::int64_t tiles_of_unit(const std::vector<std::int64_t>& tiles_of_blocks, std::int64_t resident_tiles, std::int64_t set,
                           std::int64_t unit, int log2_pieces) {
  const auto num_blocks = static_cast<std::int64_t>(tiles_of_blocks.size());
  const std::int64_t piece_tiles = resident_tiles >> log2_pieces;
  const std::int64_t first_tile = set * resident_tiles + unit / num_blocks * piece_tiles;
  const std::int64_t seen = tiles_of_blocks[static_cast<std::size_t>(num_blocks - 1 - unit % num_blocks)] - first_tile;
  return std::clamp<std::int64_t>(seen, 0, piece_tiles);
}

void add(TileShare& share, std::int64_t tiles) {
  share.tiles += tiles;
  share.blocks += tiles > 0;
}

bool shorter(const TileShare& a, const TileShare& b) { return std::tie(a.tiles, a.blocks) < std::tie(b.tiles, b.blocks); }

}  // namespace

ResidentShares resident_shares(const std::vector<std::int64_t>& tiles_of_blocks, std::int64_t resident_tiles,
                               const std::vector<std::int64_t>& parts, int log2_pieces) {
  ResidentShares result;
  for (std::size_t set = 0; set < parts.size(); ++set) {
    std::vector<TileShare> ctas(static_cast<std::size_t>(parts[set]));
    result.key_loads += parts[set];
    for (std::int64_t unit = 0; unit < static_cast<std::int64_t>(tiles_of_blocks.size()) << log2_pieces; ++unit) {
      const std::int64_t tiles = tiles_of_unit(tiles_of_blocks, resident_tiles, static_cast<std::int64_t>(set), unit, log2_pieces);
      const std::int64_t place = unit % parts[set];  // forth and back
      add(ctas[static_cast<std::size_t>(unit / parts[set] % 2 == 0 ? place : parts[set] - 1 - place)], tiles);
      add(result.total, tiles);
    }
    result.longest = std::max(result.longest, *std::ranges::max_element(ctas, shorter), shorter);
  }
  return result;
}

ResidentShares resident_shares(const std::vector<std::int64_t>& tiles_of_blocks, std::int64_t resident_tiles,
                               std::int64_t num_sets, std::int64_t units_of_cta, int log2_pieces) {
  ResidentShares result;
  TileShare cta;
  std::int64_t left = units_of_cta;
  for (std::int64_t set = 0; set < num_sets; ++set) {
    bool loaded = false;
    for (std::int64_t unit = 0; unit < static_cast<std::int64_t>(tiles_of_blocks.size()) << log2_pieces; ++unit) {
      const std::int64_t tiles = tiles_of_unit(tiles_of_blocks, resident_tiles, set, unit, log2_pieces);
      result.key_loads += tiles > 0 && !loaded;
      loaded = loaded || tiles > 0;
      add(cta, tiles);
      add(result.total, tiles);
      result.longest = std::max(result.longest, cta, shorter);
      if (--left == 0) {
        cta = {};
        left = units_of_cta;
        loaded = false;
      }
    }
  }
  return result;
}

}  // namespace mlaindex::model
