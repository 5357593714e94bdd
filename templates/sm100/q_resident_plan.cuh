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
#define K_SCALE_BY_TMA 1
#define TOKENS_PER_GROUP 2
#define DEPTH 128

constexpr int NUM_HEADS = 64;
constexpr int PADDED_HEADS = 64;
constexpr int TOKENS_PER_BLOCK = 2;
constexpr int TILE_KEYS = 128;
constexpr int MMA_M = 128;
constexpr int MMA_N = 128;
constexpr int KEY_STAGES = 5;
constexpr int ACCUMULATOR_STAGES = 2;
constexpr int TENSOR_MEMORY_COLUMNS = 256;
constexpr int NUM_THREADS = 256;
constexpr int CTAS_PER_SM = 2;
constexpr int MATH_REGISTERS = 208;
constexpr int PRODUCER_REGISTERS = 48;

constexpr int Q_OFFSET = 0;
constexpr int KEYS_OFFSET = 16384;
constexpr int K_SCALE_OFFSET = 98304;
constexpr int WEIGHTS_OFFSET = 101504;
constexpr int RANGES_OFFSET = 102016;
constexpr int BARRIERS_OFFSET = 102032;
constexpr int TENSOR_MEMORY_SLOT_OFFSET = 102160;
