// Scores of the tokens of requests against the paged keys of each, on Hopper.
//
// S^T = K Q^T: a tile of 64 keys is the M side, MMA_N (token, head) columns are the N side of an MMA. Q
// of a block, up to TOKENS_PER_BLOCK tokens of one request, stays in shared memory while its keys and
// their scales stream through a TMA ring, page by page, in place: a page is read once, whatever the tokens.
// A math warpgroup keeps to one group of MMA_N columns and its weights; where a block has fewer groups
// than there are warpgroups, those of a group deal out the stages of the ring, and none waits for a tile
// that another has not yet read.
//
// As many CTAs as fit stay on each SM, each for an equal share of all key tiles (request_schedule.cuh). Three
// producer warps walk through it, a block at a time: one fetches Q and q_scale, one copies keys, one their
// scales. None waits for another, so that a launch's first Q is asked for before its first keys, and those of
// the next block while the math warpgroups are still at the one before.
#include "sm90/paged_plan.cuh"
#include "common/arguments.cuh"
#include "common/dependent_launch.cuh"
#include "common/page_copies.cuh"
#if FILL_NEGATIVE_INFINITY
#include "common/fill_grid.cuh"
#endif
#include "sm90/quad_fold.cuh"
#if FOLD_BF16
#include "sm90/quad_fold_bf16.cuh"
#endif
#include "sm90/wgmma.cuh"
#if MMA_N == 64
#include "sm90/wgmma_narrow.cuh"
#endif

constexpr int GROUP_BYTES = MMA_N * DEPTH;
constexpr int Q_BYTES = COLUMN_GROUPS * GROUP_BYTES;
constexpr int MATH_WARPS = 4 * MATH_WARPGROUPS;
constexpr int KEYS_WARP = MATH_WARPS;
constexpr int QUERY_WARP = MATH_WARPS + 2;  // the one between copies scales
constexpr int FILL_WARP = MATH_WARPS + 3;
static_assert(KEY_STAGES <= MATH_WARPS, "a warp initialises the barriers of a stage");

// What the math warps need of a block besides Q, double-buffered like it.
struct Block {
  Work work;
  alignas(16) float weights[TOKENS_PER_BLOCK * WEIGHT_STRIDE];
};
static_assert(2 * sizeof(Block) <= UNITS_OFFSET - BLOCKS_OFFSET, "the plan reserves two blocks");

// Groups of columns that a block's tokens fill.
__device__ __forceinline__ int column_groups(int num_tokens) {
  return (num_tokens + TOKENS_PER_GROUP - 1) / TOKENS_PER_GROUP;
}

// The stages of the ring go round among this many warpgroups: those that have the same group of columns.
__device__ __forceinline__ int warpgroups_of_group(int groups) {
#if COLUMN_GROUPS == 1
  return MATH_WARPGROUPS;
#else
  return groups == 1 ? MATH_WARPGROUPS : groups == 2 ? MATH_WARPGROUPS / 2 : 1;
#endif
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
  const u32 key_full = shared_address(shared + BARRIERS_OFFSET);  // [KEY_STAGES]: TMA has written the stage
  const u32 key_empty = key_full + 8 * KEY_STAGES;                // [KEY_STAGES]: its math warps are done with it
  const u32 work_full = key_empty + 8 * KEY_STAGES;               // [2]: work is written
  const u32 weights_full = work_full + 16;                        // [2]: weights are written
  const u32 q_full = weights_full + 16;                           // [2]: Q has landed
  const u32 block_empty = q_full + 16;                            // [2]: all that waited for the block are done with it
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  const bool first_lane = lane_index() == 0;
  if (warp < KEY_STAGES && first_lane) {
    mbarrier_init(key_full + 8 * warp, 2);
    mbarrier_init(key_empty + 8 * warp, MATH_WARPS);
    mbarrier_init_fence();
  }
  if (warp == FILL_WARP && first_lane) {
#pragma unroll 1
    for (int stage = 0; stage < 2; ++stage) {
      mbarrier_init(work_full + 8 * stage, 1);
      mbarrier_init(weights_full + 8 * stage, 1);
      mbarrier_init(q_full + 8 * stage, 1);
      mbarrier_init(block_empty + 8 * stage, MATH_WARPS + 1);
    }
    mbarrier_init_fence();
  }
  if (warp == QUERY_WARP) {
    prefetch_tensor_map(k_map);
    prefetch_tensor_map(k_scale_map);
    prefetch_tensor_map(q_map);
    let_next_launch_start();
  }
  wait_for_earlier_launches();
  const int num_blocks = count_blocks(args);
  RequestBlock mine = {0, 0, 0, 0, 0};  // of a lane of the producers
  if (num_blocks > 32) {
    count_tiles(tiles_of_unit, warp, num_blocks, args);
  } else if (warp >= MATH_WARPS && warp <= QUERY_WARP) {
    mine = request_block(lane_index(), args);  // read while the barriers are initialised
  }
  __syncthreads();

  if (warp >= MATH_WARPS) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS) : "memory");
    const int lane = lane_index();
    if (warp <= QUERY_WARP) {
      Work* const works = reinterpret_cast<Work*>(shared + WORKS_OFFSET) + 32 * (warp - KEYS_WARP);  // of the lanes' blocks
      const PageRing ring = {key_ring, shared_address(scale_ring), key_full, key_empty};
      RingCursor block;
      int turns = 0;     // of the block before
      u32 position = 0;  // number of the next tile, counted over all blocks
      TileShare share = {0, 0, 0, 0};
      if (num_blocks > 32) share = tile_share(tiles_of_unit, num_blocks);
#pragma unroll 1
      for (int first_block = share.first_block;; first_block += 32) {
        if (num_blocks > 32) mine = request_block(first_block + lane, args);
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
          if (warp == QUERY_WARP) {
            const int groups = column_groups(work.num_tokens);
            const int turns_before = turns;
            turns = warpgroups_of_group(groups);
            if (turns_before != 0 && turns != turns_before) {
              // Stages are dealt out anew, and a parity tells a phase from its neighbours only: a warpgroup must
              // not wait for a stage while an earlier tile, which it does not see, is still on its way there.
              mbarrier_wait(block_empty + 8 * (block.stage ^ 1), block.parity ^ block.stage ^ 1);
            }
            mbarrier_wait(block_empty + 8 * block.stage, block.parity ^ 1);
            Block& next = blocks[block.stage];
            if (lane == 0) {
              next.work = work;
              mbarrier_arrive(work_full + 8 * block.stage);
              const u32 q_barrier = q_full + 8 * block.stage;
              mbarrier_arrive_expect_bytes(q_barrier, groups * GROUP_BYTES);
#pragma unroll 1
              for (int group = 0; group < groups; ++group) {
                tma_load_3d(q_tiles + block.stage * Q_BYTES + group * GROUP_BYTES, q_map, q_barrier, 0, 0,
                            work.first_token + group * TOKENS_PER_GROUP);
              }
            }
            __syncwarp();
            // Zero for padding heads and for tokens past the last of a group.
            const int staged_heads = groups * MMA_N;
#pragma unroll 2  // loads in flight; more of them spill
            for (int i = lane; i < staged_heads; i += 32) {
              const int token = i / PADDED_HEADS;
              const int head = i % PADDED_HEADS;
              float weight = 0.0f;
              if (token < work.num_tokens && head < NUM_HEADS) {
                weight = args.q_scale[(work.first_token + token) * args.q_scale_stride + head];
              }
              next.weights[token * WEIGHT_STRIDE + head] = weight;
            }
            __syncwarp();
            if (lane == 0) {
              mbarrier_arrive(weights_full + 8 * block.stage);
              mbarrier_arrive(block_empty + 8 * block.stage);
            }
            block.advance(2);
            continue;
          }
          const bool copies_keys = warp == KEYS_WARP;
          const int num_tiles = work.num_tiles;
          const int end = work.end;
          int box_key = work.first_tile * TILE_KEYS + lane * BOX_KEYS;
          const int* const table = copies_keys ? args.pages.block_table + work.request * args.pages.block_table_stride
                                               : args.pages.k_scale_table + work.request * args.pages.k_scale_table_stride;
          const int num_pages = copies_keys ? args.pages.num_pages : args.pages.num_k_scale_pages;
#pragma unroll 1
          for (int first = 0; first < num_tiles; first += TILES_OF_WARP, box_key += TILES_OF_WARP * TILE_KEYS) {
            // Of the lane's box. Entries past the last visible key are not read; what TMA finds there are zeros.
            const int page = box_key < end ? table[box_key / PAGE_SIZE] : num_pages;
            const int tiles = min(TILES_OF_WARP, num_tiles - first);
            copy_tiles(copies_keys, ring, position, tiles, page, box_key, k_map, k_scale_map);
            position += tiles;
          }
        }
        __syncwarp();
        share.position += length_of_all;
        if (share.position >= share.end) break;
      }
      if (warp != QUERY_WARP) return;
      mbarrier_wait(block_empty + 8 * block.stage, block.parity ^ 1);
      if (lane == 0) {
        blocks[block.stage].work = {0, 0, 0, 0, 0, 0, 0, 0};
        mbarrier_arrive(work_full + 8 * block.stage);
      }
    }
#if FILL_NEGATIVE_INFINITY
    else {
      fill_rows_of_grid(blockIdx.x, gridDim.x, args);
    }
#endif
    return;
  }

  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(MATH_REGISTERS) : "memory");
  const int lane = lane_index();
  const int quad_lane = lane % 4;
  const int row = quad_lane / 2;                    // the lane finishes scores of its key 8 * row
  const int warp_key = 16 * (warp % 4) + lane / 4;  // the lane's first key in a tile; the other is 8 further
  RingCursor block;
  u32 position = 0;  // number of the block's first tile, counted over all blocks
#pragma unroll 1
  while (true) {
    mbarrier_wait(work_full + 8 * block.stage, block.parity);
    const Block& current = blocks[block.stage];
    const Work work = current.work;
    if (work.num_tiles == 0) break;
    const int turns = warpgroups_of_group(column_groups(work.num_tokens));
    const int group = warp / 4 / turns;
    const int turn = warp / 4 & (turns - 1);
    const int first_token = group * TOKENS_PER_GROUP;  // of the group, in the block
    mbarrier_wait(weights_full + 8 * block.stage, block.parity);
    const bool idle = first_token >= work.num_tokens;  // of three groups the fourth warpgroup has none
#if FOLD_BF16
    u32 weights[MMA_N / 8];
#else
    float2 weights[MMA_N / 8];
#endif
    if (!idle) load_weights(weights, current.weights + first_token * WEIGHT_STRIDE + 2 * quad_lane);
    const u64 q_descriptor = wgmma_descriptor(q_tiles + block.stage * Q_BYTES + group * GROUP_BYTES);
    mbarrier_wait(q_full + 8 * block.stage, block.parity);
#pragma unroll 1
    for (int tile = (turn - position) & (turns - 1); tile < work.num_tiles; tile += turns) {
      const u32 stage = (position + tile) % KEY_STAGES;
      mbarrier_wait(key_full + 8 * stage, (position + tile) / KEY_STAGES & 1);
      if (idle) {
        __syncwarp();
        if (lane == 0) mbarrier_arrive(key_empty + 8 * stage);
        continue;
      }
      const float* const scales = scale_ring + stage * (SCALE_STAGE_BYTES / 4);
      const int tile_key = warp_key + 8 * row;  // whose scores the lane finishes
      const float k_scale = scales[tile_key / BOX_KEYS * SCALE_BOX + tile_key % BOX_KEYS];
      float dot[MMA_N / 2];
      wgmma_fence();
      wgmma_start(dot, wgmma_descriptor(key_ring + stage * TILE_BYTES), q_descriptor);
      wgmma_wait<0>(dot);
      __syncwarp();
      if (lane == 0) mbarrier_arrive_times(key_empty + 8 * stage, turns);  // also for the warps that do not see the tile
      const int key = (work.first_tile + tile) * TILE_KEYS + tile_key;
#if TOKENS_PER_GROUP == 1
      float part[2];
      fold_token(part, dot, weights);
      const float score = quad_sum(part, row) * k_scale;
      if (quad_lane % 2 == 0 && key < end_of_token(work, first_token, args)) {
        args.scores[(work.first_token + first_token) * args.row_stride + key] = to_score(score);
      }
#else
#pragma unroll
      for (int pair = 0; pair < TOKENS_PER_GROUP; pair += 2) {
        if (first_token + pair >= work.num_tokens) break;
        float first[2], second[2];
        fold_token(first, dot + pair * PADDED_HEADS / 2, weights + pair * PADDED_HEADS / 8);
        fold_token(second, dot + (pair + 1) * PADDED_HEADS / 2, weights + (pair + 1) * PADDED_HEADS / 8);
        const float score = quad_sum(first, second, row, quad_lane % 2) * k_scale;
        int token = first_token + pair + quad_lane % 2;
        asm volatile("" : "+r"(token));  // else ends and addresses stay in registers across tiles, and spill
        if (key < end_of_token(work, token, args)) {
          args.scores[(work.first_token + token) * args.row_stride + key] = to_score(score);
        }
      }
#endif
    }
    position += work.num_tiles;
    __syncwarp();
    if (lane == 0) mbarrier_arrive(block_empty + 8 * block.stage);
    block.advance(2);
  }
}
