// Scores of blocks of tokens against streams of keys, on Blackwell.
//
// S^T = K Q^T: half a tile, 128 keys, is the M side of an MMA; two groups of 128 (token, head) columns are
// its N side. Q of a token block stays in shared memory while the block's keys stream through a TMA ring.
// The two halves of a tile have an accumulator stage of tensor memory each, so the MMA of one runs under
// the fold of the other. Two math warpgroups own a group of columns each; one thread owns a key.
//
// One CTA stays on each SM for an equal share of all key tiles (work_schedule.cuh). Two producer warps walk
// through it, a token block at a time: one brings keys and Q, the other ranges and q_scale. Those of the next
// block are fetched while the math warpgroups are still at the one before.
#include "sm100/q_resident_plan.cuh"
#include "common/arguments.cuh"
#include "common/dependent_launch.cuh"
#include "common/mbarrier.cuh"
#include "common/tma.cuh"
#include "common/work_schedule.cuh"
#if FILL_NEGATIVE_INFINITY
#include "common/fill_grid.cuh"
#endif
#include "sm100/row_fold.cuh"
#if FOLD_BF16
#include "sm100/row_fold_bf16.cuh"
#endif
#include "sm100/group_row.cuh"
#include "sm100/tcgen05.cuh"

constexpr int MATH_WARPS = 4 * COLUMN_GROUPS;
constexpr int TMA_WARP = MATH_WARPS;
constexpr int MMA_WARP = MATH_WARPS + 1;
constexpr int SCHEDULER_WARP = MATH_WARPS + 2;
constexpr int GROUP_BYTES = 128 * DEPTH;
constexpr int Q_BYTES = COLUMN_GROUPS * GROUP_BYTES;
constexpr int TILE_BYTES = TILE_KEYS * DEPTH;
constexpr int HALVES = TILE_KEYS / MMA_M;
static_assert(HALVES == ACCUMULATOR_STAGES, "half a tile to an accumulator stage");

// What the math warps need of a token block besides Q, double-buffered like it.
struct Block {
  Work work;
  VisibleRange ranges[TOKENS_PER_BLOCK];
  alignas(16) float half_weights[128 * COLUMN_GROUPS];
};
static_assert(KEY_STAGES <= MATH_WARPS, "a warp initialises the barriers of a stage");
static_assert(2 * sizeof(Block) <= UNITS_OFFSET - BLOCKS_OFFSET, "the plan reserves two blocks");

extern "C" __global__ void __launch_bounds__(NUM_THREADS, CTAS_PER_SM)
KERNEL_NAME(
    const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
    const __grid_constant__ TensorMap, const __grid_constant__ ScoreArguments args) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const u32 q_tiles = shared_address(shared + Q_OFFSET);
  const u32 key_ring = shared_address(shared + KEYS_OFFSET);
  Block* const blocks = reinterpret_cast<Block*>(shared + BLOCKS_OFFSET);
  u32* const tiles_of_unit = reinterpret_cast<u32*>(shared + UNITS_OFFSET);
  u32* const tensor_memory_slot = reinterpret_cast<u32*>(shared + TENSOR_MEMORY_SLOT_OFFSET);
  const u32 key_full = shared_address(shared + BARRIERS_OFFSET);            // [KEY_STAGES]: TMA has written the stage
  const u32 key_empty = key_full + 8 * KEY_STAGES;                          // [KEY_STAGES]: the MMAs have read it
  const u32 accumulator_full = key_empty + 8 * KEY_STAGES;                  // [ACCUMULATOR_STAGES]: the MMA is complete
  const u32 accumulator_empty = accumulator_full + 8 * ACCUMULATOR_STAGES;  // [ACCUMULATOR_STAGES]: the math warps have read it
  const u32 work_full = accumulator_empty + 8 * ACCUMULATOR_STAGES;         // [2]: work and ranges are written
  const u32 weights_full = work_full + 16;                                  // [2]: weights are written
  const u32 q_full = weights_full + 16;                                     // [2]: Q has landed
  const u32 block_empty = q_full + 16;                                      // [2]: all that waited for the block are done with it
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  if (warp == TMA_WARP) {
    prefetch_tensor_map(q_map);
    prefetch_tensor_map(k_map);
  }
  // By several warps, because one would take as long as counting.
  if (lane_index() == 0) {
    if (warp < KEY_STAGES) {
      mbarrier_init(key_full + 8 * warp, 1);
      mbarrier_init(key_empty + 8 * warp, 1);
    }
    if (warp < 2) {
      mbarrier_init(accumulator_full + 8 * warp, 1);
      mbarrier_init(accumulator_empty + 8 * warp, MATH_WARPS);
      mbarrier_init(work_full + 8 * warp, 1);
      mbarrier_init(weights_full + 8 * warp, 1);
      mbarrier_init(q_full + 8 * warp, 1);
      mbarrier_init(block_empty + 8 * warp, MATH_WARPS + 1);
    }
    mbarrier_init_fence();
  }
  if (warp == MMA_WARP) {
    tensor_memory_allocate(shared_address(tensor_memory_slot), TENSOR_MEMORY_COLUMNS);
    tensor_memory_fence_before_barrier();
  }
  wait_for_earlier_launches();
  count_tiles(tiles_of_unit, warp, args);
  __syncthreads();
  tensor_memory_fence_after_barrier();
  const u32 accumulators = *tensor_memory_slot;

  if (warp >= MATH_WARPS) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS) : "memory");
    if (warp == TMA_WARP || warp == SCHEDULER_WARP) {
      // Both walk through the share, each brings its part of a block, and neither waits for the other.
      RingCursor ring, block;
      walk_share(tile_share(tiles_of_unit, args), args, [&](const Work& work) {
        mbarrier_wait(block_empty + 8 * block.stage, block.parity ^ 1);
        if (warp == TMA_WARP) {
          int key = work.first_tile * TILE_KEYS;
#pragma unroll 1
          for (int i = 0; i < work.num_tiles; ++i) {
            mbarrier_wait(key_empty + 8 * ring.stage, ring.parity ^ 1);
            if (elect_one()) {
              const u32 full = key_full + 8 * ring.stage;
              mbarrier_arrive_expect_bytes(full, TILE_BYTES);
              tma_load_2d(key_ring + ring.stage * TILE_BYTES, k_map, full, 0, key);
              if (i == 0) {
                const u32 q_barrier = q_full + 8 * block.stage;
                mbarrier_arrive_expect_bytes(q_barrier, Q_BYTES);
#pragma unroll 1
                for (int group = 0; group < COLUMN_GROUPS; ++group) {
                  tma_load_3d(q_tiles + block.stage * Q_BYTES + group * GROUP_BYTES, q_map, q_barrier, 0,
                              work.first_token + group * TOKENS_PER_GROUP, 0);
                }
              }
            }
            __syncwarp();
            key += TILE_KEYS;
            ring.advance(KEY_STAGES);
          }
        } else {
          Block& next = blocks[block.stage];
          if (lane_index() == 0) next.work = work;
          stage_ranges(next.ranges, work.first_token, args);
          __syncwarp();
          if (lane_index() == 0) mbarrier_arrive(work_full + 8 * block.stage);
          stage_half_weights(next.half_weights, work.first_token, args);
          __syncwarp();
          if (lane_index() == 0) mbarrier_arrive(weights_full + 8 * block.stage);
        }
        block.advance(2);
      });
      if (warp == SCHEDULER_WARP) {
        mbarrier_wait(block_empty + 8 * block.stage, block.parity ^ 1);
        if (lane_index() == 0) {
          blocks[block.stage].work = {0, 0, 0, 0};
          mbarrier_arrive(work_full + 8 * block.stage);
        }
      }
    } else if (warp == MMA_WARP) {
      if (elect_one()) {
        RingCursor ring, block;
        u32 parity = 1;  // of the accumulator stages
#pragma unroll 1
        while (true) {
          mbarrier_wait(work_full + 8 * block.stage, block.parity);
          const int num_tiles = blocks[block.stage].work.num_tiles;
          mbarrier_arrive(block_empty + 8 * block.stage);
          if (num_tiles == 0) break;
          const u64 q_descriptor = mma_descriptor(q_tiles + block.stage * Q_BYTES);
          mbarrier_wait(q_full + 8 * block.stage, block.parity);
#pragma unroll 1
          for (int i = 0; i < num_tiles; ++i) {
            mbarrier_wait(key_full + 8 * ring.stage, ring.parity);
#pragma unroll 1
            for (int half = 0; half < HALVES; ++half) {
              mbarrier_wait(accumulator_empty + 8 * half, parity);
              tensor_memory_fence_after_barrier();
              const u64 key_descriptor = mma_descriptor(key_ring + ring.stage * TILE_BYTES + half * MMA_M * DEPTH);
#pragma unroll
              for (int step = 0; step < DEPTH / 32; ++step) {
                // 32 bytes of depth further: two descriptor units, inside the swizzle atom.
                mma_step(accumulators + half * MMA_N, key_descriptor + 2 * step, q_descriptor + 2 * step, mma_instruction(MMA_N),
                         step > 0);
              }
              mma_commit(accumulator_full + 8 * half);
            }
            mma_commit(key_empty + 8 * ring.stage);
            parity ^= 1;
            ring.advance(KEY_STAGES);
          }
          block.advance(2);
        }
      }
      __syncwarp();
    }
#if FILL_NEGATIVE_INFINITY
    else {
      // The last warp, which has nothing else to do.
      fill_rows_of_grid(blockIdx.x, gridDim.x, args);
    }
#endif
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(MATH_REGISTERS) : "memory");
    const int lane = lane_index();
    const int group = warp / 4;
    const int row = threadIdx.x % 128;  // of an accumulator and of half a tile
    const u32 group_accumulators = accumulators + 128 * group + (warp % 4 << 21);  // lane 32 * (warp % 4)
    u32 full = accumulator_full;  // as values, so that they are not computed anew for every tile
    u32 empty = accumulator_empty;
    asm volatile("" : "+r"(full), "+r"(empty));
    RingCursor block;
    u32 num_done = 0;  // tiles
#pragma unroll 1
    while (true) {
      mbarrier_wait(work_full + 8 * block.stage, block.parity);
      const Block& current = blocks[block.stage];
      const Work work = current.work;
      if (work.num_tiles == 0) break;
      const VisibleRange* const ranges = current.ranges + group * TOKENS_PER_GROUP;

      // Open tiles, num_open of them from first_open on: every token of the group sees all of their keys.
      const VisibleRange mine = ranges[lane % TOKENS_PER_GROUP];
      const int first_open = (__reduce_max_sync(0xffffffff, mine.begin) + TILE_KEYS - 1) / TILE_KEYS;
      const int end_open = __reduce_min_sync(0xffffffff, mine.end) / TILE_KEYS;
      const u32 num_open = max(0, end_open - first_open);
      const long long first_key = static_cast<long long>(work.first_tile) * TILE_KEYS + row;
      const float* scale = args.k_scale + first_key - TILE_KEYS;  // a tile behind until the loop moves it, like the slots
      ScoreElement* slot[KEPT_SLOTS];
      slot[0] = args.scores + (work.first_token + group * TOKENS_PER_GROUP) * args.row_stride + first_key - TILE_KEYS;
#pragma unroll
      for (int i = 1; i < KEPT_SLOTS; ++i) slot[i] = slot[i - 1] + args.row_stride;
      u32 tile = work.first_tile - first_open;
      const u32 end_tile = tile + work.num_tiles;
      const u32 flip = num_done ^ tile;  // of the parity of the accumulator stages, against that of the tile
      num_done += work.num_tiles;

      mbarrier_wait(weights_full + 8 * block.stage, block.parity);
      Weights weight;
      load_weights(weight, current.half_weights + 128 * group);
#pragma unroll 1
      do {
        advance(scale, TILE_KEYS);  // before the reads: behind them ptxas keeps a copy of the old one
        VisibleBits visible = ~VisibleBits{0};
        float k_scale[HALVES];  // read here, used after the MMA
        if (tile < num_open) {
          k_scale[0] = load_global(scale);
          k_scale[1] = load_global(scale + MMA_M);
        } else {
          const int key = static_cast<int>(tile + first_open) * TILE_KEYS + row;
          k_scale[0] = key < args.num_keys ? load_global(scale) : 0.0f;
          k_scale[1] = key + MMA_M < args.num_keys ? load_global(scale + MMA_M) : 0.0f;
          visible = visible_bits<HALVES>(ranges, key);
        }
#pragma unroll
        for (int i = 0; i < KEPT_SLOTS; ++i) advance(slot[i], TILE_KEYS);
        const u32 parity = (tile ^ flip) & 1;
#pragma unroll
        for (int half = 0; half < HALVES; ++half) {
          mbarrier_wait(full + 8 * half, parity);
          tensor_memory_fence_after_barrier();
          u64 sum[ROW_SUMS] = {};
          fold_row(sum, group_accumulators + half * MMA_N, lane, empty + 8 * half, weight);
          store_row(slot, half * MMA_M, args.row_stride, visible, FIRST_BIT + KEY_BITS * half, sum, k_scale[half]);
        }
      } while (++tile != end_tile);
      __syncwarp();
      if (lane == 0) mbarrier_arrive(block_empty + 8 * block.stage);
      block.advance(2);
    }
  }

  tensor_memory_fence_before_barrier();
  __syncthreads();
  if (warp == MMA_WARP) {
    tensor_memory_fence_after_barrier();
    tensor_memory_release(accumulators, TENSOR_MEMORY_COLUMNS);
  }
}
