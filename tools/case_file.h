// A case: one scoring problem in a safetensors file.
//
//   q        F8_E4M3 [T, H, D]      q_scale  F32 [T, H]
//   k        F8_E4M3 [N, D]         k_scale  F32 [N]
//   row_start, row_end         I32 [T]       visible keys per token (optional, both or none)
//   query_offsets, key_offsets I32 [B + 1]   requests (optional, both or none), with the metadata
//                                            "causal" = "true" (default) or "false"
//   scores   F32 or BF16 [T, N]     what they should be (optional)
//   metadata "exact" = "true": the data allow no rounding, every right answer has the same bits
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "generator/base/result.h"
#include "runtime/score_problem.h"
#include "tools/safetensors.h"

namespace mlaindex::tools {

// Owns the tensors that `problem` points into; moving it keeps them where they are.
struct Case {
  Safetensors file;
  ScoreProblem problem;  // validated; all N keys are columns, rows without gaps
  bool exact = false;
  const Tensor* scores = nullptr;    // those of the file
  std::vector<std::string> ignored;  // tensors of names that a case does not have
};

// Errors: invalid_file (a tensor is missing or has another dtype or shape), unsupported_shape and
// invalid_argument (validate(ScoreProblem)); all name `path`.
Result<Case> read_case(const std::filesystem::path& path, ScoreType score_type, Fill fill);

// The same for tensors in memory; `name` stands for the path in messages.
Result<Case> to_case(Safetensors file, const std::string& name, ScoreType score_type, Fill fill);

// "512 tokens, 4096 keys, 32 heads, depth 128, ragged_causal (4 requests)"
std::string describe(const ScoreProblem& problem);

}  // namespace mlaindex::tools
