#include "generator/model/resident_shares.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace mlaindex::model {

std::vector<std::int64_t> parts_of_tiles(const ResidentProblem& problem, std::int64_t tile_keys, std::int64_t resident_tiles,
                                         std::int64_t num_ctas) {
  const std::int64_t resident_keys = tile_keys * resident_tiles;
  const std::int64_t num_tiles = (problem.num_keys + resident_keys - 1) / resident_keys;
  std::vector<std::int64_t> parts(static_cast<std::size_t>(num_tiles), std::max<std::int64_t>(1, num_ctas / num_tiles));
  constexpr std::int64_t most_weighted = 32;  // a lane each
  if (!problem.causal || num_tiles >= num_ctas || num_tiles > most_weighted) return parts;
  std::vector<float> weights;
  for (std::int64_t tile = 0; tile < num_tiles; ++tile) {
    const auto seeing = [&](std::int64_t key) {  // tokens
      return std::clamp<std::int64_t>(problem.num_keys - key, 0, problem.num_tokens);
    };
    weights.push_back(static_cast<float>(seeing(tile * resident_keys) + seeing((tile + 1) * resident_keys - tile_keys) + 1));
  }
  const float total = std::accumulate(weights.begin(), weights.end(), 0.0f);
  for (std::size_t tile = 0; tile < weights.size(); ++tile)
    parts[tile] = 1 + static_cast<std::int64_t>(0.9999f * static_cast<float>(num_ctas - num_tiles) * weights[tile] / total);
  return parts;
}

ResidentShares resident_shares(const ResidentProblem& problem, std::int64_t tile_keys, std::int64_t resident_tiles,
                               std::int64_t num_ctas) {
  const std::vector<std::int64_t> parts_of = parts_of_tiles(problem, tile_keys, resident_tiles, num_ctas);
  const auto num_tiles = static_cast<std::int64_t>(parts_of.size());
  ResidentShares result;
  std::vector<TileShare> ctas(static_cast<std::size_t>(std::max<std::int64_t>(num_ctas, num_tiles)));
  std::size_t first_cta = 0;
  for (std::int64_t tile = 0; tile < num_tiles; ++tile) {
    const std::int64_t parts = parts_of[static_cast<std::size_t>(tile)];
    // CTAs with several tiles take every num_ctas-th.
    if (num_tiles >= num_ctas) first_cta = static_cast<std::size_t>(tile % num_ctas);
    result.key_loads += parts;
    std::int64_t block = 0;
    for (const std::int64_t of_block : problem.tiles_of_blocks) {
      const std::int64_t seen = std::clamp<std::int64_t>(of_block - tile * resident_tiles, 0, resident_tiles);
      const std::int64_t place = block % parts;  // forth and back among the parts
      const std::int64_t part = block / parts % 2 == 0 ? place : parts - 1 - place;
      ++block;
      if (seen == 0) continue;
      for (TileShare* share : {&ctas[first_cta + static_cast<std::size_t>(part)], &result.total}) {
        share->tiles += seen;
        ++share->blocks;
      }
    }
    first_cta += static_cast<std::size_t>(parts);
  }
  result.longest = *std::ranges::max_element(ctas, {}, [](const TileShare& share) { return std::tuple(share.tiles, share.blocks); });
  return result;
}

}  // namespace mlaindex::model
