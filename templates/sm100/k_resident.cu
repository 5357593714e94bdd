// Scores of a stream of token blocks against keys that stay, on Blackwell.
//
// S^T = K Q^T: a subtile of 128 keys is the M side of an MMA; two groups of 128 (token, head) columns are its N side.
// A tile of RESIDENT_KEYS keys stays in shared memory while token blocks stream through a TMA ring. The MMA warp walks
// through them block by block, subtile by subtile, from one accumulator stage of tensor memory to the other, so that
// it is at the next block while the math warpgroups still fold the one before. These own a group of columns each; one
// thread owns a key.
//
// One CTA stays on each SM, for a tile of keys and a part of the tokens (resident_schedule.cuh).
#include "sm100/k_resident_plan.cuh"
#include "common/arguments.cuh"
#include "common/dependent_launch.cuh"
#include "common/mbarrier.cuh"
#include "common/resident_keys.cuh"
#include "common/resident_schedule.cuh"
#include "common/tma.cuh"
#include "common/visible_range.cuh"
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
static_assert(TILE_KEYS == MMA_M, "a subtile to an accumulator stage");
static_assert(ACCUMULATOR_STAGES == 2, "the lowest bit of a count of subtiles is the stage, the next one its parity");

// What the math warps need of a token block besides Q, in a ring like it. Work and ranges are the scheduler's, weights
// the TMA warp's.
struct Block {
  Work work;
  VisibleRange ranges[TOKENS_PER_BLOCK];
  alignas(16) float half_weights[128 * COLUMN_GROUPS];
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
  u32* const tensor_memory_slot = reinterpret_cast<u32*>(shared + TENSOR_MEMORY_SLOT_OFFSET);
  const u32 key_full = shared_address(shared + BARRIERS_OFFSET);            // [RESIDENT_TILES]: TMA has written the subtile
  const u32 accumulator_full = key_full + 8 * RESIDENT_TILES;               // [ACCUMULATOR_STAGES]: the MMA is complete
  const u32 accumulator_empty = accumulator_full + 8 * ACCUMULATOR_STAGES;  // [ACCUMULATOR_STAGES]: the math warps have read it
  const u32 work_full = accumulator_empty + 8 * ACCUMULATOR_STAGES;         // [BLOCK_STAGES]: work and ranges are written
  const u32 weights_full = work_full + 8 * BLOCK_STAGES;                    // [BLOCK_STAGES]: weights are written
  const u32 q_full = weights_full + 8 * BLOCK_STAGES;                       // [BLOCK_STAGES]: Q has landed
  const u32 block_empty = q_full + 8 * BLOCK_STAGES;                        // [BLOCK_STAGES]: MMA and math warps are done with the block
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
      mbarrier_init(block_empty + 8 * warp, MATH_WARPS + 1);
    }
    if (warp < RESIDENT_TILES) mbarrier_init(key_full + 8 * warp, 1);
    if (warp < ACCUMULATOR_STAGES) {
      mbarrier_init(accumulator_full + 8 * warp, 1);
      mbarrier_init(accumulator_empty + 8 * warp, MATH_WARPS);
    }
    mbarrier_init_fence();
  }
  if (warp == MMA_WARP) {
    tensor_memory_allocate(shared_address(tensor_memory_slot), TENSOR_MEMORY_COLUMNS);
    tensor_memory_fence_before_barrier();
  }
  if (warp >= MATH_WARPS) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS) : "memory");
    if (warp == TMA_WARP || warp == SCHEDULER_WARP) {
      // Both walk through the share, and each brings its part of a block. Q, keys and weights of the first one are asked for
      // before anything is known but sizes.
      ShareWalk walk = find_share(args);
      const Unit first = first_unit(walk, args);
      const int first_token = first.block * TOKENS_PER_BLOCK;
      RingCursor block;
      const auto load_block = [&](int token) {
        const u32 q_barrier = q_full + 8 * block.stage;
        mbarrier_arrive_expect_bytes(q_barrier, Q_BYTES);
#pragma unroll 1
        for (int group = 0; group < COLUMN_GROUPS; ++group) {
          tma_load_3d(q_ring + block.stage * Q_BYTES + group * GROUP_BYTES, q_map, q_barrier, 0,
                      token + group * TOKENS_PER_GROUP, 0);
        }
      };
      const auto write_work = [&](const Work& work) {
        Block& next = blocks[block.stage];
        if (lane_index() == 0) next.work = work;
        stage_ranges(next.ranges, work.first_token, args);
        __syncwarp();
        if (lane_index() == 0) mbarrier_arrive(work_full + 8 * block.stage);
      };
      const auto write_weights = [&](int token) {
        stage_half_weights(blocks[block.stage].half_weights, token, args);
        __syncwarp();
        if (lane_index() == 0) mbarrier_arrive(weights_full + 8 * block.stage);
      };
      wait_for_earlier_launches();
      Request first_request;
      if (warp == SCHEDULER_WARP) first_request = read_request(0, args);  // before Q and keys, behind which it would come late
      cta_barrier();
      if (warp == TMA_WARP) {
        if (elect_one()) {
          load_block(first_token);
          load_keys(key_tiles, k_map, key_full, first.first_key / TILE_KEYS);
        }
        __syncwarp();
        write_weights(first_token);
      }
      if (warp != SCHEDULER_WARP) first_request = read_request(0, args);
      const Work first_work = start_walk(walk, first_request, args);
      if (warp == SCHEDULER_WARP) write_work(first_work);
      block.advance(BLOCK_STAGES);
      const int loads = walk_share(walk, args, [&](const Work& work, bool first_of_tile) {
        mbarrier_wait(block_empty + 8 * block.stage, block.parity ^ 1);
        if (warp == TMA_WARP) {
          if (elect_one()) {
            // Before Q, without which no MMA waits for the new keys: it would take the barrier's phase for theirs.
            if (first_of_tile) wait_for_use_of_keys(key_full, work.loads - 1 & 1, block_empty, block);
            load_block(work.first_token);
            if (first_of_tile) load_keys(key_tiles, k_map, key_full, work.first_tile);
          }
          __syncwarp();
          write_weights(work.first_token);
        } else {
          write_work(work);
        }
        block.advance(BLOCK_STAGES);
      });
      if (warp == TMA_WARP) {
        wait_for_keys(key_full, loads - 1 & 1);
      } else {
        mbarrier_wait(block_empty + 8 * block.stage, block.parity ^ 1);
        if (lane_index() == 0) {
          blocks[block.stage].work = {0, 0, 0, 0};
          mbarrier_arrive(work_full + 8 * block.stage);
        }
      }
    } else if (warp == MMA_WARP) {
      cta_barrier();
      tensor_memory_fence_after_barrier();
      const u32 accumulators = *tensor_memory_slot;
      if (elect_one()) {
        RingCursor block;
        u32 num_done = 0;  // subtiles
#pragma unroll 1
        while (true) {
          mbarrier_wait(work_full + 8 * block.stage, block.parity);
          const Work work = blocks[block.stage].work;
          mbarrier_arrive(block_empty + 8 * block.stage);
          if (work.num_tiles == 0) break;
          const u64 q_descriptor = mma_descriptor(q_ring + block.stage * Q_BYTES);
          mbarrier_wait(q_full + 8 * block.stage, block.parity);
          u32 tile = work.first_tile % RESIDENT_TILES;
          const u32 end_tile = tile + work.num_tiles;
#pragma unroll 1
          do {
            const u32 stage = num_done % 2;
            mbarrier_wait(key_full + 8 * tile, work.loads & 1);
            mbarrier_wait(accumulator_empty + 8 * stage, (num_done / 2 & 1) ^ 1);
            tensor_memory_fence_after_barrier();
            const u64 key_descriptor = mma_descriptor(key_tiles + tile * TILE_BYTES);
#pragma unroll
            for (int step = 0; step < DEPTH / 32; ++step) {
              // 32 bytes of depth further: two descriptor units, inside the swizzle atom.
              mma_step(accumulators + stage * MMA_N, key_descriptor + 2 * step, q_descriptor + 2 * step, mma_instruction(MMA_N),
                       step > 0);
            }
            mma_commit(accumulator_full + 8 * stage);
            ++num_done;
          } while (++tile != end_tile);
          block.advance(BLOCK_STAGES);
        }
      }
      __syncwarp();
    } else {
      // The last warp, which has nothing else to do.
      wait_for_earlier_launches();
      cta_barrier();
#if FILL_NEGATIVE_INFINITY
      fill_rows_of_grid(blockIdx.x, gridDim.x, args);
#endif
    }
  } else {
    wait_for_earlier_launches();
    cta_barrier();
    tensor_memory_fence_after_barrier();
    const u32 accumulators = *tensor_memory_slot;
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(MATH_REGISTERS) : "memory");
    const int lane = lane_index();
    const int group = warp / 4;
    const int row = threadIdx.x % 128;  // of an accumulator and of a subtile
    const u32 group_accumulators = accumulators + 128 * group + (warp % 4 << 21);  // lane 32 * (warp % 4)
    RingCursor block;
    u32 num_done = 0;  // subtiles
#pragma unroll 1
    while (true) {
      mbarrier_wait(work_full + 8 * block.stage, block.parity);
      const Block& current = blocks[block.stage];
      const Work work = current.work;
      if (work.num_tiles == 0) break;
      const VisibleRange* const ranges = current.ranges + group * TOKENS_PER_GROUP;

      // Open subtiles, num_open of them from first_open on: every token of the group sees all of their keys.
      const VisibleRange mine = ranges[lane % TOKENS_PER_GROUP];
      const int first_open = (__reduce_max_sync(0xffffffff, mine.begin) + TILE_KEYS - 1) / TILE_KEYS;
      const int end_open = __reduce_min_sync(0xffffffff, mine.end) / TILE_KEYS;
      const u32 num_open = max(0, end_open - first_open);
      const long long first_key = static_cast<long long>(work.first_tile) * TILE_KEYS + row;
      const float* scale = args.k_scale + first_key - TILE_KEYS;  // a subtile behind until the loop moves it, like the slots
      ScoreElement* slot[KEPT_SLOTS];
      slot[0] = args.scores + (work.first_token + group * TOKENS_PER_GROUP) * args.row_stride + first_key - TILE_KEYS;
#pragma unroll
      for (int i = 1; i < KEPT_SLOTS; ++i) slot[i] = slot[i - 1] + args.row_stride;
      u32 tile = work.first_tile - first_open;
      const u32 end_tile = tile + work.num_tiles;

      mbarrier_wait(weights_full + 8 * block.stage, block.parity);
      Weights weight;
      load_weights(weight, current.half_weights + 128 * group);
#pragma unroll 1
      do {
        advance(scale, TILE_KEYS);  // before the reads: behind them ptxas keeps a copy of the old one
        VisibleBits visible = ~VisibleBits{0};
        float k_scale;  // read here, used after the MMA
        if (tile < num_open) {
          k_scale = load_global(scale);
        } else {
          const int key = static_cast<int>(tile + first_open) * TILE_KEYS + row;
          k_scale = key < args.num_keys ? load_global(scale) : 0.0f;
          visible = visible_bits<1>(ranges, key);
        }
#pragma unroll
        for (int i = 0; i < KEPT_SLOTS; ++i) advance(slot[i], TILE_KEYS);
        const u32 stage = num_done % 2;
        const u32 full = accumulator_full + 8 * stage;
        mbarrier_wait(full, num_done / 2 & 1);
        tensor_memory_fence_after_barrier();
        u64 sum[ROW_SUMS] = {};
        fold_row(sum, group_accumulators + stage * MMA_N, lane, full + 8 * ACCUMULATOR_STAGES, weight);
        store_row(slot, 0, args.row_stride, visible, FIRST_BIT, sum, k_scale);
        ++num_done;
      } while (++tile != end_tile);
      __syncwarp();
      if (lane == 0) mbarrier_arrive(block_empty + 8 * block.stage);
      block.advance(BLOCK_STAGES);
    }
  }

  tensor_memory_fence_before_barrier();
  __syncthreads();
  if (warp == MMA_WARP) {
    tensor_memory_fence_after_barrier();
    tensor_memory_release(*tensor_memory_slot, TENSOR_MEMORY_COLUMNS);
  }
}
