// Scores of a stream of token blocks against keys that stay, on Hopper.
//
// S^T = K Q^T: 64 keys are the M side, 128 (token, head) columns the N side of an MMA. A tile of RESIDENT_KEYS keys
// stays in shared memory while token blocks stream through a TMA ring. The math warpgroups take blocks in turn: one
// scores its block, subtile by subtile, while another starts on its own, so that the tensor core does not wait for
// barriers and weights. A lane folds whole tokens (lane_fold.cuh).
//
// One CTA stays on each SM, for a tile of keys and a part of the tokens (resident_schedule.cuh).
#include "sm90/k_resident_plan.cuh"
#include "common/arguments.cuh"
#include "common/dependent_launch.cuh"
#include "common/mbarrier.cuh"
#include "common/resident_schedule.cuh"
#include "common/visible_range.cuh"
#if FILL_NEGATIVE_INFINITY
#include "common/fill_grid.cuh"
#endif
#include "sm90/lane_fold.cuh"
#if FOLD_BF16
#include "sm90/lane_fold_bf16.cuh"
#endif
#include "sm90/score_tile.cuh"
#include "sm90/tma_boxes.cuh"
#include "sm90/token_weights.cuh"

constexpr int Q_BYTES = 128 * ACCUMULATORS * DEPTH;
constexpr int MATH_WARPS = 4 * MATH_WARPGROUPS;
constexpr int TMA_WARP = MATH_WARPS;
constexpr int SCHEDULER_WARP = MATH_WARPS + 1;
constexpr int WEIGHTS_WARP = MATH_WARPS + 2;
static_assert(BLOCK_STAGES % MATH_WARPGROUPS == 0, "a stage belongs to one warpgroup");

// What a math warpgroup needs of a token block besides Q, in a ring like it. Work and ranges are the scheduler's.
struct Block {
  Work work;
  VisibleRange ranges[TOKENS_PER_BLOCK];
  alignas(16) float weights[TOKENS_PER_BLOCK * WEIGHT_STRIDE];
};
static_assert(BLOCK_STAGES <= MATH_WARPS && RESIDENT_TILES <= MATH_WARPS, "a warp initialises the barriers of a stage");
static_assert(BLOCK_STAGES * sizeof(Block) <= BARRIERS_OFFSET - BLOCKS_OFFSET, "the plan reserves a block a stage");

extern "C" __global__ void __launch_bounds__(NUM_THREADS, CTAS_PER_SM)
KERNEL_NAME(
    const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
    const __grid_constant__ TensorMap, const __grid_constant__ ScoreArguments args) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const u32 q_ring = shared_address(shared + Q_OFFSET);
  const u32 key_tiles = shared_address(shared + KEYS_OFFSET);
  Block* const blocks = reinterpret_cast<Block*>(shared + BLOCKS_OFFSET);
  const u32 key_full = shared_address(shared + BARRIERS_OFFSET);  // [RESIDENT_TILES]: TMA has written the subtile
  const u32 work_full = key_full + 8 * RESIDENT_TILES;            // [BLOCK_STAGES]: work and ranges are written
  const u32 weights_full = work_full + 8 * BLOCK_STAGES;          // [BLOCK_STAGES]: weights are written
  const u32 q_full = weights_full + 8 * BLOCK_STAGES;             // [BLOCK_STAGES]: Q has landed
  const u32 block_empty = q_full + 8 * BLOCK_STAGES;              // [BLOCK_STAGES]: a warpgroup is done with the block
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  if (warp == TMA_WARP) {
    prefetch_tensor_map(k_map);
    prefetch_tensor_map(q_map);
  }
  // By several warps, because one would take long.
  if (lane_index() == 0) {
    if (warp < BLOCK_STAGES) {
      mbarrier_init(work_full + 8 * warp, 1);
      mbarrier_init(weights_full + 8 * warp, 1);
      mbarrier_init(q_full + 8 * warp, 1);
      mbarrier_init(block_empty + 8 * warp, MATH_WARPS);
    }
    if (warp < RESIDENT_TILES) mbarrier_init(key_full + 8 * warp, 1);
    mbarrier_init_fence();
  }
  if (warp >= MATH_WARPS) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS) : "memory");
    if (warp <= WEIGHTS_WARP) {
      // Three warps walk through the share, and each brings its part of a block. Q, keys and weights of the first one are
      // asked for before anything is known but sizes.
      ShareWalk walk = find_share(args);
      const Unit first = first_unit(walk, args);
      const int first_token = first.block * TOKENS_PER_BLOCK;
      TokenWeights weights;  // of the weights warp's last block, on their way while it goes on
      bool has_weights = false;
      RingCursor block;
      const auto load_block = [&](int token) {
        const u32 q_barrier = q_full + 8 * block.stage;
        mbarrier_arrive_expect_bytes(q_barrier, Q_BYTES);
        load_queries(q_ring + block.stage * Q_BYTES, q_map, q_barrier, token);
      };
      const auto write_work = [&](const Work& work) {
        Block& next = blocks[block.stage];
        if (lane_index() == 0) next.work = work;
        stage_ranges(next.ranges, work.first_token, args);
        __syncwarp();
        if (lane_index() == 0) mbarrier_arrive(work_full + 8 * block.stage);
      };
      const auto write_weights = [&] {
        weights.store(blocks[block.stage].weights);
        __syncwarp();
        if (lane_index() == 0) mbarrier_arrive(weights_full + 8 * block.stage);
        block.advance(BLOCK_STAGES);
      };
      wait_for_earlier_launches();
      Request first_request;
      if (warp == SCHEDULER_WARP) first_request = read_request(0, args);  // before Q and keys, behind which it would come late
      cta_barrier();
      if (warp == TMA_WARP && elect_one()) {
        load_block(first_token);
        load_keys(key_tiles, k_map, key_full, first.first_key / TILE_KEYS);
      }
      if (warp == WEIGHTS_WARP) {
        weights.load(first_token, args);
        write_weights();
      }
      if (warp != SCHEDULER_WARP) first_request = read_request(0, args);
      const Work first_work = start_walk(walk, first_request, args);
      if (warp == SCHEDULER_WARP) write_work(first_work);
      if (warp != WEIGHTS_WARP) block.advance(BLOCK_STAGES);
      const int loads = walk_share(walk, args, [&](const Work& work, bool first_of_tile) {
        if (warp == WEIGHTS_WARP) {
          if (has_weights) {
            mbarrier_wait(block_empty + 8 * block.stage, block.parity ^ 1);
            write_weights();
          }
          weights.load(work.first_token, args);
          has_weights = true;
          return;
        }
        mbarrier_wait(block_empty + 8 * block.stage, block.parity ^ 1);
        if (warp == TMA_WARP) {
          if (elect_one()) {
            // Before Q, without which no warpgroup waits for the new keys: it would take the barrier's phase for theirs.
            if (first_of_tile) wait_for_use_of_keys(key_full, work.loads - 1 & 1, block_empty, block);
            load_block(work.first_token);
            if (first_of_tile) load_keys(key_tiles, k_map, key_full, work.first_tile);
          }
        } else {
          write_work(work);
        }
        block.advance(BLOCK_STAGES);
      });
      if (warp == SCHEDULER_WARP) {
#pragma unroll 1
        for (int warpgroup = 0; warpgroup < MATH_WARPGROUPS; ++warpgroup) {
          mbarrier_wait(block_empty + 8 * block.stage, block.parity ^ 1);
          if (lane_index() == 0) {
            blocks[block.stage].work = {0, 0, 0, 0};
            mbarrier_arrive(work_full + 8 * block.stage);
          }
          block.advance(BLOCK_STAGES);
        }
      } else if (warp == WEIGHTS_WARP) {
        if (has_weights) {
          mbarrier_wait(block_empty + 8 * block.stage, block.parity ^ 1);
          write_weights();
        }
      } else {
        wait_for_keys(key_full, loads - 1 & 1);
      }
    } else {
      // The last warp, which has nothing else to do.
      wait_for_earlier_launches();
      cta_barrier();
#if FILL_NEGATIVE_INFINITY
      fill_rows_of_grid(blockIdx.x, gridDim.x, args);
#endif
    }
    return;
  }

  wait_for_earlier_launches();
  cta_barrier();
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(MATH_REGISTERS) : "memory");
  const int quad_lane = lane_index() % 4;
  const int lane_token = quad_lane % TOKENS_PER_BOX;  // the lane's first one
  u32 taken = warp / 4u;                              // blocks before the warpgroup's next one
#pragma unroll 1
  while (true) {
    const u32 stage = taken % BLOCK_STAGES;
    const u32 parity = taken / BLOCK_STAGES & 1;
    mbarrier_wait(work_full + 8 * stage, parity);
    const Block& current = blocks[stage];
    const Work work = current.work;
    if (work.num_tiles == 0) break;
    LaneRanges visible;
    load_lane_ranges(visible, current.ranges + lane_token);
    mbarrier_wait(weights_full + 8 * stage, parity);
    LaneWeights weight;
    load_lane_weights(weight, current.weights + lane_token * WEIGHT_STRIDE, quad_lane);
    const u64 q_descriptor = wgmma_descriptor(q_ring + stage * Q_BYTES);
    mbarrier_wait(q_full + 8 * stage, parity);

    const u32 thread = thread_index();
    int key = work.first_tile * TILE_KEYS + 16 * (thread / 32 % 4) + thread % 32 / 4;  // and key + 8
#if ACCUMULATORS == 2
    const float* scale = args.k_scale + key;
#endif
    ScoreElement* slot = args.scores + (work.first_token + lane_token) * args.row_stride + key;
    u32 tile = work.first_tile % RESIDENT_TILES;
    const u32 end_tile = tile + work.num_tiles;
#pragma unroll 1
    do {
      float k_scale[2];  // read here, used after the MMA
#if ACCUMULATORS == 1
      const float* scale = args.k_scale + key;  // kept across tiles, it would spill
#endif
      k_scale[0] = key < args.num_keys ? scale[0] : 0.0f;
      k_scale[1] = key + 8 < args.num_keys ? scale[8] : 0.0f;
      mbarrier_wait(key_full + 8 * tile, work.loads & 1);
      score_tile(slot, key, k_scale, wgmma_descriptor(key_tiles + tile * TILE_BYTES), q_descriptor, weight, visible, quad_lane,
                 args.row_stride, [] {});
      key += TILE_KEYS;
#if ACCUMULATORS == 2
      scale += TILE_KEYS;
#endif
      slot += TILE_KEYS;
    } while (++tile != end_tile);
    __syncwarp();
    if (lane_index() == 0) mbarrier_arrive_times(block_empty + 8 * stage, MATH_WARPGROUPS);  // also for the other warpgroups
    taken += MATH_WARPGROUPS;
  }
}
