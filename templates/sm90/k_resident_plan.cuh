// A plan to compile the template alone: the generator puts its own in place of this file.
#pragma once
#define KERNEL_NAME mlaindex_score_sample
#define PAGED 0
#define MASK_RAGGED 1
#define MASK_CAUSAL 1
#define MASK_RANGES 0
#define MASK_CONTEXT 0
#define MASK_CONTEXT_ROWS 0
#define SCORE_BF16 0
#define FILL_NEGATIVE_INFINITY 1
#define FOLD_BF16 0
#define HEADS_ARE_EVEN 1
#define TOKENS_PER_BOX 4
#define ACCUMULATORS 2
#define LANE_TOKENS 1
#define DEPTH 128

constexpr int NUM_HEADS = 64;
constexpr int PADDED_HEADS = 64;
constexpr int TOKENS_PER_WARPGROUP = 4;
constexpr int TOKENS_PER_BLOCK = 4;
constexpr int TILE_KEYS = 64;
constexpr int RESIDENT_KEYS = 256;
constexpr int BLOCK_STAGES = 4;
constexpr int MATH_WARPGROUPS = 2;
constexpr int NUM_THREADS = 384;
constexpr int CTAS_PER_SM = 1;
constexpr int MATH_REGISTERS = 232;
constexpr int PRODUCER_REGISTERS = 40;

constexpr int Q_OFFSET = 0;
constexpr int KEYS_OFFSET = 131072;
constexpr int BLOCKS_OFFSET = 163840;

constexpr int BARRIERS_OFFSET = 168384;
