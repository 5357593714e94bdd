// A plan to compile the template alone: the generator puts its own in place of this file.
#pragma once
#define KERNEL_NAME mlaindex_score_sample
#define PAGED 1
#define MASK_RAGGED 0
#define MASK_CAUSAL 0
#define MASK_RANGES 0
#define MASK_CONTEXT 1
#define MASK_CONTEXT_ROWS 0
#define SCORE_BF16 0
#define FILL_NEGATIVE_INFINITY 1
#define FOLD_BF16 0
#define TOKENS_PER_GROUP 2
#define MMA_N 128
#define COLUMN_GROUPS 4
#define DEPTH 128

constexpr int NUM_HEADS = 64;
constexpr int PADDED_HEADS = 64;
constexpr int TOKENS_PER_BLOCK = 8;
constexpr int TILE_KEYS = 64;
constexpr int PAGE_SIZE = 64;
constexpr int KEY_STAGES = 8;
constexpr int MATH_WARPGROUPS = 4;
constexpr int NUM_THREADS = 640;
constexpr int CTAS_PER_SM = 1;
constexpr int MATH_REGISTERS = 112;
constexpr int PRODUCER_REGISTERS = 32;

constexpr int Q_OFFSET = 0;
constexpr int KEYS_OFFSET = 131072;
constexpr int K_SCALE_OFFSET = 196608;
constexpr int BLOCKS_OFFSET = 198656;
constexpr int UNITS_OFFSET = 203392;
constexpr int WORKS_OFFSET = 204416;
constexpr int BARRIERS_OFFSET = 207488;
