// Scores of a block of tokens against a stream of keys, on Hopper.
//
// S^T = K Q^T: a tile of 64 keys is the M side, 128 (head, token) columns are the N side, so the
// head sum runs over the columns of a row. Q of the whole block stays in shared memory as
// COLUMN_GROUPS tiles of 128 columns, one for each math warpgroup; keys stream through a TMA ring
// that all of them read. The math warpgroups are not ordered among each other: while one folds a
// tile, the tensor core works on the next tile or on the columns of the others.
#include "sm90/q_resident_plan.cuh"
#include "common/arguments.cuh"
#include "common/mbarrier.cuh"
#include "common/quad_fold.cuh"
#include "common/tma.cuh"
#include "common/visible_range.cuh"
#if FILL_NEGATIVE_INFINITY
#include "common/fill.cuh"
#endif
#include "sm90/wgmma.cuh"

constexpr int GROUP_BYTES = 128 * DEPTH;
constexpr int TILE_BYTES = TILE_KEYS * DEPTH;
constexpr int PRODUCER_WARP = 4 * COLUMN_GROUPS;

extern "C" __global__ void __launch_bounds__(NUM_THREADS, CTAS_PER_SM)
KERNEL_NAME(
    const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
    const __grid_constant__ TensorMap, const __grid_constant__ ScoreArguments args) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const u32 q_tiles = shared_address(shared + Q_OFFSET);
  const u32 key_ring = shared_address(shared + KEYS_OFFSET);
  float* const staged_weights = reinterpret_cast<float*>(shared + WEIGHTS_OFFSET);
  VisibleRange* const ranges = reinterpret_cast<VisibleRange*>(shared + RANGES_OFFSET);
  const u32 key_full = shared_address(shared + BARRIERS_OFFSET);  // [KEY_STAGES]: TMA has written the stage
  const u32 key_empty = key_full + 8 * KEY_STAGES;                // [KEY_STAGES]: every math warp is done with it
  const u32 q_full = key_empty + 8 * KEY_STAGES;                  // all Q tiles have landed

  // The last tokens of a causal batch see the most keys: they start first.
  const int first_token = (gridDim.x - 1 - blockIdx.x) * TOKENS_PER_BLOCK;
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int stage = 0; stage < KEY_STAGES; ++stage) {
      mbarrier_init(key_full + 8 * stage, 1);
      mbarrier_init(key_empty + 8 * stage, 4 * COLUMN_GROUPS);
    }
    mbarrier_init(q_full, 1);
    mbarrier_init_fence();
  }
  find_visible_ranges(ranges, first_token, args);
  stage_weights(staged_weights, first_token, args);
  __syncthreads();
  const KeyTiles tiles = key_tiles_of_block(covering_range(ranges, TOKENS_PER_BLOCK));

  if (warp >= PRODUCER_WARP) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS) : "memory");
    if (warp == PRODUCER_WARP) {
      if (tiles.count > 0 && elect_one()) {
        prefetch_tensor_map(k_map);
        const int num_groups = min(COLUMN_GROUPS, (args.num_tokens - first_token + TOKENS_PER_GROUP - 1) / TOKENS_PER_GROUP);
        mbarrier_arrive_expect_bytes(q_full, num_groups * GROUP_BYTES);
#pragma unroll 1
        for (int group = 0; group < num_groups; ++group) {
          tma_load_3d(q_tiles + group * GROUP_BYTES, q_map, q_full, 0, first_token + group * TOKENS_PER_GROUP, 0);
        }
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
    }
#if FILL_NEGATIVE_INFINITY
    else {
      fill_hidden_slots(ranges, first_token, warp - PRODUCER_WARP - 1, 3, args);
    }
#endif
    return;
  }

  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(MATH_REGISTERS) : "memory");
  const int group = warp / 4;
  const int group_token = first_token + group * TOKENS_PER_GROUP;
  const VisibleRange* const group_ranges = ranges + group * TOKENS_PER_GROUP;
  const VisibleRange group_keys = covering_range(group_ranges, TOKENS_PER_GROUP);
  const u64 q_descriptor = wgmma_descriptor(q_tiles + group * GROUP_BYTES);

  float weight[32];
  load_quad_weights(weight, staged_weights + 128 * group, lane_index());

  if (tiles.count > 0) mbarrier_wait(q_full, 0);
  RingCursor ring;
#pragma unroll 1
  for (int i = 0; i < tiles.count; ++i) {
    const int tile_key = (tiles.first + i) * TILE_KEYS;
    const bool tile_is_seen = tile_key < group_keys.end && tile_key + TILE_KEYS > group_keys.begin;
    mbarrier_wait(key_full + 8 * ring.stage, ring.parity);
    if (tile_is_seen) {
      const int warp_key = tile_key + 16 * (warp % 4);
      float k_scale[2];
      load_quad_k_scale(k_scale, lane_index(), warp_key, args);
      float dot[64];
      const u64 key_descriptor = wgmma_descriptor(key_ring + ring.stage * TILE_BYTES);
      wgmma_tile(dot, key_descriptor, q_descriptor);
      const int lane = lane_index();  // read again in every tile: no register holds it during the MMA
      if (lane == 0) mbarrier_arrive(key_empty + 8 * ring.stage);
      fold_quad(dot, weight, k_scale, lane, warp_key, group_token, group_ranges, args);
    } else if (lane_index() == 0) {
      mbarrier_arrive(key_empty + 8 * ring.stage);
    }
    ring.advance(KEY_STAGES);
  }
}
