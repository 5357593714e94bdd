// Scores of the tokens of requests against the paged keys of each, on Blackwell.
//
// S^T = K Q^T: a tile of 128 keys is the M side, the (token, head) columns of a block, up to 256, are the N side of
// an MMA: as many columns as the block's tokens need. Q of a block, up to TOKENS_PER_BLOCK tokens of one request,
// stays in shared memory while its keys and their scales stream through a TMA ring, page by page, in place. Tiles
// alternate between two accumulator stages of tensor memory, so the MMA of one runs under the fold of another.
// One thread of a math warpgroup owns a key. Two groups of 128 columns have a warpgroup each; of one group the
// warpgroups take turns with the tiles.
//
// One CTA stays on each SM for an equal share of all key tiles (request_schedule.cuh). Two producer warps walk
// through it, a block at a time. One copies keys, as far ahead as the ring reaches; the other hands the blocks on, and
// copies scales, with Q and q_scale of a block ahead of its first.
#include "sm100/paged_plan.cuh"
#include "common/arguments.cuh"
#include "common/dependent_launch.cuh"
#include "common/page_copies.cuh"
#if FILL_NEGATIVE_INFINITY
#include "common/fill_grid.cuh"
#endif
#include "sm100/tcgen05.cuh"
#include "sm100/fold_columns.cuh"
#if FOLD_BF16
#include "sm100/fold_columns_bf16.cuh"
#endif
#include "sm100/token_rows.cuh"

constexpr int MATH_WARPS = 4 * COLUMN_GROUPS;
constexpr int KEYS_WARP = MATH_WARPS;
constexpr int SCALES_WARP = MATH_WARPS + 1;  // and blocks
constexpr int MMA_WARP = MATH_WARPS + 2;
constexpr int FILL_WARP = MATH_WARPS + 3;
constexpr int GROUP_BYTES = 128 * DEPTH;
constexpr int Q_BYTES = COLUMN_GROUPS * GROUP_BYTES;
static_assert(TILE_KEYS == MMA_M, "a tile is one MMA");
static_assert(COLUMN_GROUPS == 2 && ACCUMULATOR_STAGES == 2, "of one group, each warpgroup has a stage");
static_assert(KEY_STAGES <= MATH_WARPS, "a warp initialises the barriers of a stage");

// What the math warps need of a block besides Q, double-buffered like it.
struct Block {
  Work work;
  alignas(16) float half_weights[128 * COLUMN_GROUPS];
};
static_assert(2 * sizeof(Block) <= UNITS_OFFSET - BLOCKS_OFFSET, "the plan reserves two blocks");

// Columns of an MMA for that many tokens: what the math warps load of them.
__device__ __forceinline__ u32 columns_of_tokens(int num_tokens) {
  return (num_tokens * PADDED_HEADS + LOADED_COLUMNS - 1) / LOADED_COLUMNS * LOADED_COLUMNS;
}

// Q of a block, its groups of columns one after the other. By a whole warp.
__device__ __forceinline__ void copy_q(u32 destination, const TensorMap& q_map, u32 full, const Work& work) {
  if (elect_one()) {
    const int groups = work.num_tokens <= TOKENS_PER_GROUP ? 1 : 2;
    mbarrier_arrive_expect_bytes(full, groups * GROUP_BYTES);
#pragma unroll 1
    for (int group = 0; group < groups; ++group) {
      tma_load_3d(destination + group * GROUP_BYTES, q_map, full, 0, 0, work.first_token + group * TOKENS_PER_GROUP);
    }
  }
  __syncwarp();
}

// Half of the weights of a block's columns, which undoes the doubling of fold_columns exactly: of columns lane + 32 * i.
// Zero for padding heads and for tokens past the last.
__device__ __forceinline__ void load_half_weights_of_lane(float (&half_weight)[MMA_N / 32], const Work& work,
                                                          const ScoreArguments& args) {
#pragma unroll
  for (int i = 0; i < MMA_N / 32; ++i) {
    const int column = lane_index() + 32 * i;
    const int token = column / PADDED_HEADS;
    const int head = column % PADDED_HEADS;
    const bool used = token < work.num_tokens && head < NUM_HEADS;
    half_weight[i] = used ? 0.5f * args.q_scale[(work.first_token + token) * args.q_scale_stride + head] : 0.0f;
  }
}

extern "C" __global__ void __launch_bounds__(NUM_THREADS, CTAS_PER_SM)
KERNEL_NAME(
    const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
    const __grid_constant__ TensorMap k_scale_map, const __grid_constant__ ScoreArguments args) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const u32 q_tiles = shared_address(shared + Q_OFFSET);
  const u32 key_ring = shared_address(shared + KEYS_OFFSET);
  float* const scale_ring = reinterpret_cast<float*>(shared + K_SCALE_OFFSET);
  Block* const blocks = reinterpret_cast<Block*>(shared + BLOCKS_OFFSET);
  u32* const tiles_of_unit = reinterpret_cast<u32*>(shared + UNITS_OFFSET);
  u32* const tensor_memory_slot = reinterpret_cast<u32*>(shared + TENSOR_MEMORY_SLOT_OFFSET);
  const u32 key_full = shared_address(shared + BARRIERS_OFFSET);            // [KEY_STAGES]: TMA has written the stage
  const u32 key_empty = key_full + 8 * KEY_STAGES;                          // [KEY_STAGES]: the MMA and all math warps are done with it
  const u32 accumulator_full = key_empty + 8 * KEY_STAGES;                  // [ACCUMULATOR_STAGES]: the MMA is complete
  const u32 accumulator_empty = accumulator_full + 8 * ACCUMULATOR_STAGES;  // [ACCUMULATOR_STAGES]: all math warps are done with it
  const u32 work_full = accumulator_empty + 8 * ACCUMULATOR_STAGES;         // [2]: work is written
  const u32 weights_full = work_full + 16;                                  // [2]: weights are written
  const u32 q_full = weights_full + 16;                                     // [2]: Q has landed
  const u32 block_empty = q_full + 16;                                      // [2]: all that waited for the block are done with it
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  const bool first_lane = lane_index() == 0;
  if (warp < KEY_STAGES && first_lane) {
    mbarrier_init(key_full + 8 * warp, 2);
    mbarrier_init(key_empty + 8 * warp, MATH_WARPS + 1);
    mbarrier_init_fence();
  }
  if (warp == FILL_WARP && first_lane) {
#pragma unroll 1
    for (int stage = 0; stage < 2; ++stage) {
      mbarrier_init(accumulator_full + 8 * stage, 1);
      mbarrier_init(accumulator_empty + 8 * stage, MATH_WARPS);
      mbarrier_init(work_full + 8 * stage, 1);
      mbarrier_init(weights_full + 8 * stage, 1);
      mbarrier_init(q_full + 8 * stage, 1);
      mbarrier_init(block_empty + 8 * stage, MATH_WARPS + 1);
    }
    mbarrier_init_fence();
  }
  if (warp == SCALES_WARP) {
    prefetch_tensor_map(k_map);
    prefetch_tensor_map(k_scale_map);
    prefetch_tensor_map(q_map);
  }
  if (warp == MMA_WARP) {
    tensor_memory_allocate(shared_address(tensor_memory_slot), TENSOR_MEMORY_COLUMNS);
    tensor_memory_fence_before_barrier();
    let_next_launch_start();
  }
  wait_for_earlier_launches();
  const int num_blocks = count_blocks(args);
  if (num_blocks > 32) count_tiles(tiles_of_unit, warp, num_blocks, args);
  __syncthreads();
  tensor_memory_fence_after_barrier();
  const u32 accumulators = *tensor_memory_slot;

  if (warp >= MATH_WARPS) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS) : "memory");
    if (warp <= SCALES_WARP) {
      const int lane = lane_index();
      const bool copies_keys = warp == KEYS_WARP;
      const PageRing ring = {key_ring, shared_address(scale_ring), key_full, key_empty};
      RingCursor block;
      Work* const works = reinterpret_cast<Work*>(shared + WORKS_OFFSET) + 32 * (warp - KEYS_WARP);  // of the lanes' blocks
      u32 position = 0;  // number of the next tile, counted over all blocks
      TileShare share = {0, 0, 0, 0};
      if (num_blocks > 32) share = tile_share(tiles_of_unit, num_blocks);
#pragma unroll 1
      for (int first_block = share.first_block;; first_block += 32) {
        const RequestBlock mine = request_block(first_block + lane, args);
        const u32 length = length_in_sequence(mine.end);
        const u32 reached = inclusive_sum(length);
        const u32 length_of_all = __shfl_sync(0xffffffff, reached, 31);
        if (num_blocks <= 32) share = equal_share(length_of_all);
        const TileRun run = run_of_share(share, share.position + reached - length, length);
        works[lane] = {mine.first_token, mine.num_tokens, run.first_tile, run.num_tiles, mine.last_end, mine.end, mine.request, 0};
        u32 owners = __ballot_sync(0xffffffff, run.num_tiles > 0);
        __syncwarp();
#pragma unroll 1
        for (; owners != 0; owners &= owners - 1) {
          const Work& work = works[__ffs(owners) - 1];
          const int num_tiles = work.num_tiles;
          const int end = work.end;
          const int request = work.request;
          int box_key = work.first_tile * TILE_KEYS + lane * BOX_KEYS;
          const int* const table = copies_keys ? args.pages.block_table + request * args.pages.block_table_stride
                                               : args.pages.k_scale_table + request * args.pages.k_scale_table_stride;
          const int num_pages = copies_keys ? args.pages.num_pages : args.pages.num_k_scale_pages;
          float half_weight[MMA_N / 32];
#pragma unroll 1
          for (int first = 0; first < num_tiles;) {
            // Of the lane's box. Entries past the last visible key are not read; what TMA finds there are zeros.
            const int page = box_key < end ? table[box_key / PAGE_SIZE] : num_pages;
            int tiles = min(TILES_OF_WARP, num_tiles - first);
            const bool starts_block = first == 0 && !copies_keys;
            if (starts_block) {  // while the pages are looked up
              mbarrier_wait(block_empty + 8 * block.stage, block.parity ^ 1);
              if (lane == 0) {
                blocks[block.stage].work = work;
                mbarrier_arrive(work_full + 8 * block.stage);
              }
              __syncwarp();
              copy_q(q_tiles + block.stage * Q_BYTES, q_map, q_full + 8 * block.stage, work);
              load_half_weights_of_lane(half_weight, work, args);
              tiles = min(tiles, REFILLS);  // the weights wait no longer
            }
            copy_tiles(copies_keys, ring, position, tiles, page, box_key, k_map, k_scale_map);
            if (starts_block) {
#pragma unroll
              for (int i = 0; i < MMA_N / 32; ++i) blocks[block.stage].half_weights[32 * i + lane] = half_weight[i];
              __syncwarp();
              if (lane == 0) mbarrier_arrive(weights_full + 8 * block.stage);
              block.advance(2);
            }
            position += tiles;
            first += tiles;
            box_key += tiles * TILE_KEYS;
          }
        }
        __syncwarp();
        share.position += length_of_all;
        if (share.position >= share.end) break;
      }
      if (!copies_keys) {
        mbarrier_wait(block_empty + 8 * block.stage, block.parity ^ 1);
        if (lane == 0) {
          blocks[block.stage].work = {0, 0, 0, 0, 0, 0, 0, 0};
          mbarrier_arrive(work_full + 8 * block.stage);
        }
      }
      __syncwarp();
    } else if (warp == MMA_WARP) {
      if (elect_one()) {
        RingCursor block;
        u32 number = 0;    // of the next tile, counted over all blocks
        u32 parities = 3;  // of the accumulator stages, a bit each
#pragma unroll 1
        while (true) {
          mbarrier_wait(work_full + 8 * block.stage, block.parity);
          const int num_tiles = blocks[block.stage].work.num_tiles;
          const u32 instruction = mma_instruction(columns_of_tokens(blocks[block.stage].work.num_tokens));
          mbarrier_arrive(block_empty + 8 * block.stage);
          if (num_tiles == 0) break;
          const u64 q_descriptor = mma_descriptor(q_tiles + block.stage * Q_BYTES);
          mbarrier_wait(q_full + 8 * block.stage, block.parity);
#pragma unroll 1
          for (int i = 0; i < num_tiles; ++i, ++number) {
            const u32 stage = number % KEY_STAGES;
            const u32 buffer = i % ACCUMULATOR_STAGES;
            mbarrier_wait(key_full + 8 * stage, number / KEY_STAGES & 1);
            mbarrier_wait(accumulator_empty + 8 * buffer, parities >> buffer & 1);
            parities ^= 1 << buffer;
            tensor_memory_fence_after_barrier();
            const u64 key_descriptor = mma_descriptor(key_ring + stage * TILE_BYTES);
#pragma unroll
            for (int step = 0; step < DEPTH / 32; ++step) {
              // 32 bytes of depth further: two descriptor units, inside the swizzle atom.
              mma_step(accumulators + buffer * MMA_N, key_descriptor + 2 * step, q_descriptor + 2 * step, instruction, step > 0);
            }
            mma_commit(accumulator_full + 8 * buffer);
            mma_commit(key_empty + 8 * stage);
          }
          block.advance(2);
        }
      }
      __syncwarp();
    }
#if FILL_NEGATIVE_INFINITY
    else {
      fill_rows_of_grid(blockIdx.x, gridDim.x, args);
    }
#endif
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(MATH_REGISTERS) : "memory");
    const int lane = lane_index();
    const int row = threadIdx.x % 128;  // of an accumulator and of a tile
    u32 scale = shared_address(scale_ring + row / BOX_KEYS * SCALE_BOX + row % BOX_KEYS);
    u32 barriers = key_full;  // as values, so that they are not computed anew for every tile
    asm volatile("" : "+r"(scale), "+r"(barriers));
    RingCursor block;
    u32 number = 0;  // of the next tile, counted over all blocks
    u32 parity[ACCUMULATOR_STAGES] = {};
#pragma unroll 1
    while (true) {
      mbarrier_wait(work_full + 8 * block.stage, block.parity);
      const Block& current = blocks[block.stage];
      const int num_tiles = current.work.num_tiles;
      if (num_tiles == 0) break;
      const bool one_group = current.work.num_tokens <= TOKENS_PER_GROUP;
      const u32 group = one_group ? 0 : warp / 4;
      const int first_token = group * TOKENS_PER_GROUP;  // of the group, in the block
      const int num_tokens = min(TOKENS_PER_GROUP, current.work.num_tokens - first_token);
      const u32 row_accumulators = accumulators + 128 * group + (warp % 4 << 21);  // lane 32 * (warp % 4)
      const int last = last_load(num_tokens);

      // Open tiles, those before number end_open: every token of the group sees all of their keys.
      const int least_end = __reduce_min_sync(0xffffffff, end_of_token(current.work, first_token + min(lane, num_tokens - 1), args));
      const int first_key = current.work.first_tile * TILE_KEYS;
      const u32 end_open = number + max(0, least_end - first_key) / TILE_KEYS;
      const u32 end = number + num_tiles;
      int key = first_key + row;
      ScoreElement* slot[KEPT_SLOTS];
      slot[0] = args.scores + static_cast<long long>(current.work.first_token + first_token) * args.row_stride + key;
#pragma unroll
      for (int i = 1; i < KEPT_SLOTS; ++i) slot[i] = slot[i - 1] + args.row_stride;

      mbarrier_wait(weights_full + 8 * block.stage, block.parity);
      Weights weight;
      load_weights(weight, current.half_weights + 128 * group);
      bool more;
#pragma unroll 1
      do {
#pragma unroll
        for (int buffer = 0; buffer < ACCUMULATOR_STAGES; ++buffer) {
          // Every warp sees every tile, before its stages are filled again: a parity tells a phase from its
          // neighbours only.
          const u32 stage = number % KEY_STAGES;
          mbarrier_wait(barriers + 8 * stage, number / KEY_STAGES & 1);
          const float k_scale = load_shared(scale + stage * SCALE_STAGE_BYTES);
          __syncwarp();
          if (lane == 0) mbarrier_arrive(barriers + (key_empty - key_full) + 8 * stage);
          mbarrier_wait(barriers + (accumulator_full - key_full) + 8 * buffer, parity[buffer]);
          parity[buffer] ^= 1;
          tensor_memory_fence_after_barrier();
          if (one_group && buffer != warp / 4) {  // the other warpgroup's turn
            __syncwarp();
            if (lane == 0) mbarrier_arrive(barriers + (accumulator_empty - key_full) + 8 * buffer);
          } else {
            u32 visible = all_bits(num_tokens);
            if (number >= end_open) visible = visible_bits(current.work, first_token, num_tokens, key, args);
            fold_row(row_accumulators + buffer * MMA_N, last, lane, barriers + (accumulator_empty - key_full) + 8 * buffer,
                     weight, visible, k_scale, slot, args.row_stride);
          }
          key += TILE_KEYS;
#pragma unroll
          for (int i = 0; i < KEPT_SLOTS; ++i) slot[i] += TILE_KEYS;
          more = ++number != end;
          if (!more) break;
        }
      } while (more);
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
