// Copies of paged keys: the tiles of one request from their pages, in place, into a ring of stages. One producer warp
// copies keys, another their scales.
#pragma once
#include "common/mbarrier.cuh"
#include "common/request_schedule.cuh"
#include "common/tma.cuh"

constexpr int TILE_BYTES = TILE_KEYS * DEPTH;
constexpr int BOX_KEYS = PAGE_SIZE < TILE_KEYS ? PAGE_SIZE : TILE_KEYS;  // of one copy: inside a page
constexpr int TILE_BOXES = TILE_KEYS / BOX_KEYS;
constexpr int SCALE_BOX = BOX_KEYS < 32 ? 32 : BOX_KEYS;  // floats: TMA writes to multiples of 128 bytes
constexpr int SCALE_STAGE_BYTES = 4 * TILE_BOXES * SCALE_BOX;
static_assert((KEY_STAGES & (KEY_STAGES - 1)) == 0, "a stage is a few bits of a tile's number");
constexpr int REFILLS = KEY_STAGES / 4;  // stages whose scales are waited for, fenced and filled together

// Shared addresses of what a producer fills.
struct PageRing {
  u32 keys;    // [KEY_STAGES], TILE_BYTES each
  u32 scales;  // [KEY_STAGES], SCALE_STAGE_BYTES each
  u32 full;    // [KEY_STAGES] barriers: the copy has arrived
  u32 empty;   // [KEY_STAGES] barriers: the stage may be filled again
};

constexpr int TILES_OF_WARP = 32 / TILE_BOXES;  // whose boxes the lanes of a producer look up together

// Copies tiles position to position + tiles, at most TILES_OF_WARP of them, by a whole warp: the keys or their
// scales. page, box_key: of the lane's box, where the first tile has the first lanes' boxes.
__device__ __forceinline__ void copy_tiles(bool copies_keys, const PageRing& ring, u32 position, int tiles, int page,
                                           int box_key, const TensorMap& k_map, const TensorMap& k_scale_map) {
  // Of keys in the tile's first page.
  const auto first_row = [&](int tile) {
    return BOX_KEYS == PAGE_SIZE ? 0 : __shfl_sync(0xffffffff, box_key, tile * TILE_BOXES) % PAGE_SIZE;
  };
  int pages_of_tile[TILE_BOXES];
  const auto look_up_pages = [&](int tile) {
#pragma unroll
    for (int box = 0; box < TILE_BOXES; ++box) pages_of_tile[box] = __shfl_sync(0xffffffff, page, tile * TILE_BOXES + box);
  };
  if (copies_keys) {
#pragma unroll 1
    for (int i = 0; i < tiles; ++i) {
      const u32 stage = (position + i) % KEY_STAGES;
      const u32 full = ring.full + 8 * stage;
      look_up_pages(i);
      const int row = first_row(i);
      mbarrier_wait(ring.empty + 8 * stage, (position + i) / KEY_STAGES + 1 & 1);
      if (elect_one()) {
        mbarrier_arrive_expect_bytes(full, TILE_BYTES);
#pragma unroll
        for (int box = 0; box < TILE_BOXES; ++box) {
          tma_load_3d(ring.keys + stage * TILE_BYTES + box * BOX_KEYS * DEPTH, k_map, full, 0, row, pages_of_tile[box]);
        }
      }
      __syncwarp();
    }
    return;
  }
#pragma unroll 1
  for (int i = 0; i < tiles;) {
    const int last = min(i + REFILLS, tiles);
#pragma unroll 1
    for (u32 number = position + i; number < position + last; ++number) {
      mbarrier_wait(ring.empty + 8 * (number % KEY_STAGES), number / KEY_STAGES + 1 & 1);
    }
    // Scales were read through the generic proxy and are refilled through the asynchronous one: without
    // this fence TMA may overtake the read. In the math warps it would wait for their stores as well.
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#pragma unroll 1
    for (; i < last; ++i) {
      const u32 stage = (position + i) % KEY_STAGES;
      const u32 full = ring.full + 8 * stage;
      look_up_pages(i);
      const int row = first_row(i);
      if (elect_one()) {
        mbarrier_arrive_expect_bytes(full, 4 * TILE_KEYS);
#pragma unroll
        for (int box = 0; box < TILE_BOXES; ++box) {
          tma_load_2d(ring.scales + stage * SCALE_STAGE_BYTES + 4 * box * SCALE_BOX, k_scale_map, full, row,
                      pages_of_tile[box]);
        }
      }
      __syncwarp();
    }
  }
}
