// A tile of RESIDENT_KEYS keys that stays in shared memory, in subtiles of TILE_KEYS with a barrier each.
#pragma once
#include "common/mbarrier.cuh"
#include "common/tma.cuh"

constexpr int TILE_BYTES = TILE_KEYS * DEPTH;
constexpr int RESIDENT_TILES = RESIDENT_KEYS / TILE_KEYS;

// Asks for the subtiles of the tile that `subtile` is one of, that one first; past the last key TMA finds zeros.
__device__ __forceinline__ void load_keys(u32 key_tiles, const TensorMap& k_map, u32 key_full, int subtile) {
  const int first = subtile % RESIDENT_TILES;
#pragma unroll 1
  for (int i = 0; i < RESIDENT_TILES; ++i) {
    const int place = (first + i) % RESIDENT_TILES;
    mbarrier_arrive_expect_bytes(key_full + 8 * place, TILE_BYTES);
    tma_load_2d(key_tiles + place * TILE_BYTES, k_map, key_full + 8 * place, 0, (subtile - first + place) * TILE_KEYS);
  }
}

// Waits for all subtiles, of which no block may have seen some.
__device__ __forceinline__ void wait_for_keys(u32 key_full, u32 parity) {
#pragma unroll 1
  for (int tile = 0; tile < RESIDENT_TILES; ++tile) mbarrier_wait(key_full + 8 * tile, parity);
}

// Before keys of another tile are asked for: waits until those that are here have come, and all blocks before this one
// are done with them.
__device__ __forceinline__ void wait_for_use_of_keys(u32 key_full, u32 parity, u32 block_empty, const RingCursor& block) {
  wait_for_keys(key_full, parity);
#pragma unroll 1
  for (u32 stage = 0; stage < BLOCK_STAGES; ++stage) {
    if (stage != block.stage) mbarrier_wait(block_empty + 8 * stage, block.parity ^ (stage > block.stage));
  }
}
