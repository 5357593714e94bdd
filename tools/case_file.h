// A case: one scoring problem in a safetensors file.
//
//   q        F8_E4M3 [T, H, D]      q_scale  F32 [T, H]
//   k        F8_E4M3 [N, D]         k_scale  F32 [N]
//   row_start, row_end         I32 [T]       visible keys per token (optional, both or none)
//   query_offsets, key_offsets I32 [B + 1]   requests (optional, both or none), with the metadata
//                                            "causal" = "true" (default) or "false"
// or, in place of k, k_scale and the tensors after them, paged keys:
//   kv_pages       U8 [P, S]    pages of page * D e4m3 and page f32 scales, then any padding
//   block_table    I32 [B, M]   the pages of each request
//   context_lens   I32 [B]      keys of each request: its T / B tokens are the last of them; or [T] or
//                               [B, T / B]: keys that each token sees
//   query_offsets  I32 [B + 1]  which tokens are whose (optional), with the metadata "causal"
//   k_scale_pages F32 [P2, page], k_scale_table I32 [B, M]   scales in a pool of their own (optional)
//   metadata "page_size" (default S / (D + 4), or that of k_scale_pages)
//
//   scores   F32 or BF16 [T, N]     what they should be (optional); paged: N = M * page
//   metadata "exact" = "true": the data allow no rounding, every right answer has the same bits; "exact_bf16" =
//   "true": and so it is with a bf16 fold
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
  bool exact = false;    // under the problem's fold
  const Tensor* scores = nullptr;    // those of the file
  std::vector<std::string> ignored;  // tensors of names that a case does not have
};

// Errors: invalid_file (a tensor is missing or has another dtype or shape), unsupported_shape and
// invalid_argument (validate(ScoreProblem)); all name `path`.
Result<Case> read_case(const std::filesystem::path& path, ScoreType score_type, Fill fill, FoldType fold = FoldType::f32);

// The same for tensors in memory; `name` stands for the path in messages.
Result<Case> to_case(Safetensors file, const std::string& name, ScoreType score_type, Fill fill,
                     FoldType fold = FoldType::f32);

// "512 tokens, 4096 keys, 32 heads, depth 128, ragged_causal (4 requests)"
std::string describe(const ScoreProblem& problem);

}  // namespace mlaindex::tools
