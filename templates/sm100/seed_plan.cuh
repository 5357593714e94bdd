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
constexpr int PADDED_HEADS = 64;
constexpr int COLUMN_GROUPS = 1;
constexpr int TOKENS_PER_BLOCK = 2;
constexpr int TILE_KEYS = 64;
constexpr int MMA_M = 64;
constexpr int MMA_N = 128;
constexpr int KEY_STAGES = 8;
constexpr int ACCUMULATOR_STAGES = 2;
constexpr int TENSOR_MEMORY_COLUMNS = 256;
constexpr int NUM_THREADS = 256;
constexpr int CTAS_PER_SM = 1;

constexpr int Q_OFFSET = 0;
constexpr int KEYS_OFFSET = 16384;
constexpr int WEIGHTS_OFFSET = 81920;
constexpr int RANGES_OFFSET = 82432;
constexpr int BARRIERS_OFFSET = 82448;
constexpr int TENSOR_MEMORY_SLOT_OFFSET = 82624;
