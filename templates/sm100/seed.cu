// Scores of a block of tokens against a stream of keys, on Blackwell: the first plan, kept as the
// yardstick of later ones.
//
// S^T = K Q^T: a tile of 64 keys is the M side, 128 (head, token) columns are the N side. Q of the
// block stays in shared memory, keys stream through a ring of eight TMA stages, accumulators
// alternate between two stages of tensor memory. Four threads share a key, as on Hopper.
//
//   warps 0-3: math. warp 4: issues the MMAs, owns tensor memory. warp 5: TMA. warps 6, 7: fill.
#include "sm100/seed_plan.cuh"
#include "common/arguments.cuh"
#include "common/block_ranges.cuh"
#include "common/dependent_launch.cuh"
#include "common/mbarrier.cuh"
#include "sm100/quad_fold.cuh"
#include "common/tma.cuh"
#if FILL_NEGATIVE_INFINITY
#include "common/fill_block.cuh"
#endif
#include "sm100/load_quads.cuh"
#include "sm100/tcgen05.cuh"

constexpr int MATH_WARPS = 4;
constexpr int MMA_WARP = 4;
constexpr int TMA_WARP = 5;
#if FILL_NEGATIVE_INFINITY
constexpr int FILL_WARP = 6;
#endif
constexpr int Q_BYTES = MMA_N * DEPTH;
constexpr int TILE_BYTES = TILE_KEYS * DEPTH;

extern "C" __global__ void __launch_bounds__(NUM_THREADS, CTAS_PER_SM)
KERNEL_NAME(
    const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
    const __grid_constant__ TensorMap, const __grid_constant__ ScoreArguments args) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const u32 q_tile = shared_address(shared + Q_OFFSET);
  const u32 key_ring = shared_address(shared + KEYS_OFFSET);
  float* const staged_weights = reinterpret_cast<float*>(shared + WEIGHTS_OFFSET);
  VisibleRange* const ranges = reinterpret_cast<VisibleRange*>(shared + RANGES_OFFSET);
  u32* const tensor_memory_slot = reinterpret_cast<u32*>(shared + TENSOR_MEMORY_SLOT_OFFSET);
  const u32 key_full = shared_address(shared + BARRIERS_OFFSET);            // [KEY_STAGES]: TMA has written the stage
  const u32 key_empty = key_full + 8 * KEY_STAGES;                          // [KEY_STAGES]: the MMA is done with it
  const u32 accumulator_full = key_empty + 8 * KEY_STAGES;                  // [ACCUMULATOR_STAGES]: the MMA is complete
  const u32 accumulator_empty = accumulator_full + 8 * ACCUMULATOR_STAGES;  // [ACCUMULATOR_STAGES]: the math warps have read it
  const u32 q_full = accumulator_empty + 8 * ACCUMULATOR_STAGES;

  // The last tokens of a causal batch see the most keys: they start first.
  const int first_token = (gridDim.x - 1 - blockIdx.x) * TOKENS_PER_BLOCK;
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int stage = 0; stage < KEY_STAGES; ++stage) {
      mbarrier_init(key_full + 8 * stage, 1);
      mbarrier_init(key_empty + 8 * stage, 1);
    }
#pragma unroll 1
    for (int stage = 0; stage < ACCUMULATOR_STAGES; ++stage) {
      mbarrier_init(accumulator_full + 8 * stage, 1);
      mbarrier_init(accumulator_empty + 8 * stage, MATH_WARPS);
    }
    mbarrier_init(q_full, 1);
    mbarrier_init_fence();
  }
  wait_for_earlier_launches();
  find_visible_ranges(ranges, first_token, args);
  stage_weights(staged_weights, first_token, args);
  if (warp == MMA_WARP) {
    tensor_memory_allocate(shared_address(tensor_memory_slot), TENSOR_MEMORY_COLUMNS);
    tensor_memory_fence_before_barrier();
  }
  __syncthreads();
  tensor_memory_fence_after_barrier();
  const u32 accumulators = *tensor_memory_slot;
  const KeyTiles tiles = key_tiles_of_block(covering_range(ranges, TOKENS_PER_BLOCK));

  if (warp == TMA_WARP) {
    if (tiles.count > 0 && elect_one()) {
      prefetch_tensor_map(k_map);
      mbarrier_arrive_expect_bytes(q_full, Q_BYTES);
      tma_load_3d(q_tile, q_map, q_full, 0, first_token, 0);
      RingCursor ring;
#pragma unroll 1
      for (int i = 0; i < tiles.count; ++i) {
        mbarrier_wait(key_empty + 8 * ring.stage, ring.parity ^ 1);
        const u32 full = key_full + 8 * ring.stage;
        mbarrier_arrive_expect_bytes(full, TILE_BYTES);
        tma_load_2d(key_ring + ring.stage * TILE_BYTES, k_map, full, 0, (tiles.first + i) * TILE_KEYS);
        ring.advance(KEY_STAGES);
      }
    }
    __syncwarp();
  } else if (warp == MMA_WARP) {
    if (tiles.count > 0 && elect_one()) {
      const u64 q_descriptor = mma_descriptor(q_tile);
      mbarrier_wait(q_full, 0);
      RingCursor ring, accumulator;
#pragma unroll 1
      for (int i = 0; i < tiles.count; ++i) {
        mbarrier_wait(accumulator_empty + 8 * accumulator.stage, accumulator.parity ^ 1);
        mbarrier_wait(key_full + 8 * ring.stage, ring.parity);
        tensor_memory_fence_after_barrier();
        const u64 key_descriptor = mma_descriptor(key_ring + ring.stage * TILE_BYTES);
#pragma unroll
        for (int step = 0; step < DEPTH / 32; ++step) {
          // 32 bytes of depth further: two descriptor units, inside the swizzle atom.
          mma_step(accumulators + accumulator.stage * MMA_N, key_descriptor + 2 * step, q_descriptor + 2 * step,
                   mma_instruction(MMA_N), step > 0);
        }
        mma_commit(key_empty + 8 * ring.stage);
        mma_commit(accumulator_full + 8 * accumulator.stage);
        ring.advance(KEY_STAGES);
        accumulator.advance(ACCUMULATOR_STAGES);
      }
    }
    __syncwarp();
  } else if (warp < MATH_WARPS) {
    const int lane = lane_index();
    float weight[32];
    load_quad_weights(weight, staged_weights, lane);
    const u32 warp_accumulators = accumulators + (warp << 21);  // lane 32 * warp

    RingCursor accumulator;
#pragma unroll 1
    for (int i = 0; i < tiles.count; ++i) {
      const int warp_key = (tiles.first + i) * TILE_KEYS + 16 * warp;
      float k_scale[2];
      load_quad_k_scale(k_scale, lane, warp_key, args);
      mbarrier_wait(accumulator_full + 8 * accumulator.stage, accumulator.parity);
      tensor_memory_fence_after_barrier();
      float dot[64];
      load_quad_columns(dot, warp_accumulators + accumulator.stage * MMA_N);
      tensor_memory_fence_before_barrier();
      __syncwarp();
      if (lane == 0) mbarrier_arrive(accumulator_empty + 8 * accumulator.stage);
      fold_quad(dot, weight, k_scale, lane, warp_key, first_token, ranges, args);
      accumulator.advance(ACCUMULATOR_STAGES);
    }
  }
#if FILL_NEGATIVE_INFINITY
  else {
    fill_hidden_slots(ranges, first_token, warp - FILL_WARP, 2, args);
  }
#endif

  tensor_memory_fence_before_barrier();
  __syncthreads();
  if (warp == MMA_WARP) {
    tensor_memory_fence_after_barrier();
    tensor_memory_release(accumulators, TENSOR_MEMORY_COLUMNS);
  }
}
