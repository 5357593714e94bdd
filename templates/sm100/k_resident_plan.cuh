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
#define TOKENS_PER_GROUP 2
#define DEPTH 128

constexpr int NUM_HEADS = 64;
constexpr int COLUMN_GROUPS = 2;
constexpr int TOKENS_PER_BLOCK = 4;
constexpr int TILE_KEYS = 128;
constexpr int MMA_M = 128;
constexpr int MMA_N = 256;
constexpr int RESIDENT_KEYS = 512;
constexpr int BLOCK_STAGES = 4;
constexpr int ACCUMULATOR_STAGES = 2;
constexpr int TENSOR_MEMORY_COLUMNS = 512;
constexpr int NUM_THREADS = 384;
constexpr int CTAS_PER_SM = 1;
constexpr int MATH_REGISTERS = 232;
constexpr int PRODUCER_REGISTERS = 40;

constexpr int Q_OFFSET = 0;
constexpr int KEYS_OFFSET = 131072;
constexpr int BLOCKS_OFFSET = 196608;
constexpr int BARRIERS_OFFSET = 200896;
constexpr int TENSOR_MEMORY_SLOT_OFFSET = 201088;
