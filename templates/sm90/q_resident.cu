// Scores of blocks of tokens against streams of keys, on Hopper.
//
// S^T = K Q^T: a tile of 64 keys is the M side, 512 (token, head) columns are the N side, 128 of them
// an MMA. Q of a token block stays in shared memory while the block's keys stream through a TMA ring
// that all math warpgroups read. Each of them owns 128 * ACCUMULATORS columns, laid out so that a
// lane folds whole tokens (lane_fold.cuh). No order is kept among the warpgroups: while one folds, the
// tensor core works for another, or on the second accumulator of the same one. They start one after the
// other; those that begin together go on together, all waiting and all folding at a time.
//
// One CTA stays on each SM for an equal share of all key tiles (work_schedule.cuh). Three producer warps walk
// through it, a token block at a time: one brings keys and Q, one ranges, one q_scale. Those of the next block
// are fetched while the math warpgroups are still at the one before.
#include "sm90/q_resident_plan.cuh"
#include "common/arguments.cuh"
#include "common/dependent_launch.cuh"
#include "common/mbarrier.cuh"
#include "common/visible_range.cuh"
#include "common/work_schedule.cuh"
#if FILL_NEGATIVE_INFINITY
#include "common/fill_grid.cuh"
#endif
#include "sm90/lane_fold.cuh"
#if FOLD_BF16
#include "sm90/lane_fold_bf16.cuh"
#endif
#include "sm90/score_tile.cuh"
#include "sm90/tma_boxes.cuh"

constexpr int COLUMNS = 512;
constexpr int Q_BYTES = COLUMNS * DEPTH;
constexpr int WARPGROUP_COLUMNS = 128 * ACCUMULATORS;
constexpr int TILE_BYTES = TILE_KEYS * DEPTH;
constexpr int MATH_WARPS = 4 * MATH_WARPGROUPS;
constexpr int TMA_WARP = MATH_WARPS;
constexpr u32 START_DELAY = 300;  // clocks: about a quarter of a tile's time
constexpr int SCHEDULER_WARP = MATH_WARPS + 1;
constexpr int WEIGHTS_WARP = MATH_WARPS + 2;

// What the math warps need of a token block besides Q, double-buffered like it. Work and ranges are the
// scheduler's.
struct Block {
  Work work;
  VisibleRange ranges[TOKENS_PER_BLOCK];
  alignas(16) float weights[TOKENS_PER_BLOCK * WEIGHT_STRIDE];
};
static_assert(KEY_STAGES <= MATH_WARPS && 2 * MATH_WARPGROUPS <= MATH_WARPS, "a warp initialises the barriers of a stage");
static_assert(2 * sizeof(Block) <= UNITS_OFFSET - BLOCKS_OFFSET, "the plan reserves two blocks");

__device__ __forceinline__ u32 read_clock() {
  u32 clock;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(clock));
  return clock;
}

extern "C" __global__ void __launch_bounds__(NUM_THREADS, CTAS_PER_SM)
KERNEL_NAME(
    const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
    const __grid_constant__ TensorMap, const __grid_constant__ ScoreArguments args) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const u32 q_tiles = shared_address(shared + Q_OFFSET);
  const u32 key_ring = shared_address(shared + KEYS_OFFSET);
  Block* const blocks = reinterpret_cast<Block*>(shared + BLOCKS_OFFSET);
  u32* const tiles_of_unit = reinterpret_cast<u32*>(shared + UNITS_OFFSET);
  const u32 key_full = shared_address(shared + BARRIERS_OFFSET);  // [KEY_STAGES]: TMA has written the stage
  const u32 key_empty = key_full + 8 * KEY_STAGES;                // [KEY_STAGES]: every math warp is done with it
  const u32 work_full = key_empty + 8 * KEY_STAGES;               // [2]: work and ranges are written
  const u32 weights_full = work_full + 16;                        // [2]: weights are written
  const u32 q_full = weights_full + 16;                           // [2][MATH_WARPGROUPS]: Q of the warpgroup has landed
  const u32 block_empty = q_full + 16 * MATH_WARPGROUPS;          // [2]: all math warps are done with the block
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  if (warp == TMA_WARP) {
    prefetch_tensor_map(q_map);
    prefetch_tensor_map(k_map);
  }
  // By several warps, because one would take as long as counting.
  if (lane_index() == 0) {
    if (warp < KEY_STAGES) {
      mbarrier_init(key_full + 8 * warp, 1);
      mbarrier_init(key_empty + 8 * warp, MATH_WARPS);
    }
    if (warp < 2 * MATH_WARPGROUPS) mbarrier_init(q_full + 8 * warp, 1);
    if (warp < 2) {
      mbarrier_init(work_full + 8 * warp, 1);
      mbarrier_init(weights_full + 8 * warp, 1);
      mbarrier_init(block_empty + 8 * warp, MATH_WARPS);
    }
    mbarrier_init_fence();
  }
  wait_for_earlier_launches();
  count_tiles(tiles_of_unit, warp, args);
  __syncthreads();

  if (warp >= MATH_WARPS) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS) : "memory");
    if (warp <= WEIGHTS_WARP) {
      // Three warps walk through the share, each brings its part of a block, and none waits for another.
      const u64 keep = keep_in_l2();  // keys are read again by every token block, scores are not
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
              tma_load_2d_hinted(key_ring + ring.stage * TILE_BYTES, k_map, full, 0, key, keep);
              if (i == 0) {
                // Behind the first keys, which are few. In parts: a warpgroup starts when its own is there.
                u32 q_barrier = q_full + 8 * MATH_WARPGROUPS * block.stage;
                u32 q_tile = q_tiles + block.stage * Q_BYTES;
                int token = work.first_token;
#pragma unroll 1
                for (int warpgroup = 0; warpgroup < MATH_WARPGROUPS; ++warpgroup) {
                  mbarrier_arrive_expect_bytes(q_barrier, WARPGROUP_COLUMNS * DEPTH);
                  load_queries(q_tile, q_map, q_barrier, token);
                  q_tile += WARPGROUP_COLUMNS * DEPTH;
                  token += TOKENS_PER_WARPGROUP;
                  q_barrier += 8;
                }
              }
            }
            __syncwarp();
            key += TILE_KEYS;
            ring.advance(KEY_STAGES);
          }
        } else if (warp == SCHEDULER_WARP) {
          Block& next = blocks[block.stage];
          if (lane_index() == 0) next.work = work;
          stage_ranges(next.ranges, work.first_token, args);
          __syncwarp();
          if (lane_index() == 0) mbarrier_arrive(work_full + 8 * block.stage);
        } else {
          stage_token_weights(blocks[block.stage].weights, work.first_token, args);
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
    }
#if FILL_NEGATIVE_INFINITY
    else {
      // The last warp, which has nothing else to do.
      fill_rows_of_grid(blockIdx.x, gridDim.x, args);
    }
#endif
    return;
  }

  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(MATH_REGISTERS) : "memory");
  const int lane = lane_index();
  const int quad_lane = lane % 4;
  const int warpgroup = warp / 4;
  const int lane_token = warpgroup * TOKENS_PER_WARPGROUP + quad_lane % TOKENS_PER_BOX;  // the lane's first one
  RingCursor ring, block;
  u32 delay = START_DELAY * warpgroup;
#pragma unroll 1
  while (true) {
    mbarrier_wait(work_full + 8 * block.stage, block.parity);
    const Block& current = blocks[block.stage];
    const Work work = current.work;
    if (work.num_tiles == 0) break;
    LaneRanges visible;
    load_lane_ranges(visible, current.ranges + lane_token);
    mbarrier_wait(weights_full + 8 * block.stage, block.parity);
    LaneWeights weight;
    load_lane_weights(weight, current.weights + lane_token * WEIGHT_STRIDE, quad_lane);
    const u64 q_descriptor = wgmma_descriptor(q_tiles + block.stage * Q_BYTES + warpgroup * WARPGROUP_COLUMNS * DEPTH);
    const u32 q_barriers = q_full + 8 * MATH_WARPGROUPS * block.stage;
    mbarrier_wait(q_barriers, block.parity);  // the delay counts from where the first warpgroup starts
    const u32 begin = read_clock();
    mbarrier_wait(q_barriers + 8 * warpgroup, block.parity);
    while (read_clock() - begin < delay) continue;
    delay = 0;

    int key = work.first_tile * TILE_KEYS + 16 * (warp % 4) + lane / 4;  // and key + 8
    const float* scale = args.k_scale + key;
    ScoreElement* slot = args.scores + (work.first_token + lane_token) * args.row_stride + key;
#pragma unroll 1
    for (int i = 0; i < work.num_tiles; ++i) {
      float k_scale[2];  // read here, used after the MMA
      k_scale[0] = key < args.num_keys ? scale[0] : 0.0f;
      k_scale[1] = key + 8 < args.num_keys ? scale[8] : 0.0f;
      mbarrier_wait(key_full + 8 * ring.stage, ring.parity);
      const u64 key_descriptor = wgmma_descriptor(key_ring + ring.stage * TILE_BYTES);
      score_tile(slot, key, k_scale, key_descriptor, q_descriptor, weight, visible, quad_lane, args.row_stride,
                 [&] { if (lane == 0) mbarrier_arrive(key_empty + 8 * ring.stage); });
      key += TILE_KEYS;
      scale += TILE_KEYS;
      slot += TILE_KEYS;
      ring.advance(KEY_STAGES);
    }
    __syncwarp();
    if (lane == 0) mbarrier_arrive(block_empty + 8 * block.stage);
    block.advance(2);
  }
}
