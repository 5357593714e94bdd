#include "generator/base/format.h"
#include "runtime/reference.h"
#include "tools/case_file.h"
#include "tools/commands.h"
#include "tools/make_case.h"

namespace mlaindex::tools {
namespace {

// The reference's f32 scores; slots that no token sees are zero.
Status add_scores(Safetensors& file, const ScoreProblem& problem) {
  Tensor scores{"F32",
                {static_cast<std::uint64_t>(problem.num_tokens), static_cast<std::uint64_t>(problem.num_keys)},
                AlignedBytes(score_buffer_bytes(problem))};
  if (scores.data.size() != score_buffer_bytes(problem)) {
    return Error{ErrorCode::out_of_memory, fmt::format("no memory for {} bytes of scores", score_buffer_bytes(problem)),
                 "ask for fewer tokens or keys"};
  }
  Status computed = reference_scores(problem, {scores.data.data(), scores.data.size()});
  if (computed) file.tensors["scores"] = std::move(scores);
  return computed;
}

}  // namespace

Result<ExitCode> run_make_case(Session& session, const MakeCaseOptions& options) {
  CaseRequest request = options.request;
  request.exact |= request.exact_bf16;
  const bool paged = request.page_size != 0;
  const Mask default_mask = paged ? Mask::context : Mask::ragged_causal;
  const Result<Mask> mask = options.mask.empty() ? default_mask : parse_mask(options.mask);
  if (!mask) return mask.error();
  const bool fixed_tokens = *mask == Mask::context || *mask == Mask::context_rows;
  if (options.num_requests && !is_ragged(*mask) && !fixed_tokens) {
    return Error{ErrorCode::invalid_argument, fmt::format("--requests has no meaning with --mask {}", options.mask),
                 "it goes with --mask ragged or ragged_causal, and with --paged"};
  }
  if (options.num_tokens && fixed_tokens) {
    return Error{ErrorCode::invalid_argument, fmt::format("--tokens has no meaning with --mask {}", mask_name(*mask)),
                 "such a batch has --requests times --next-n tokens"};
  }
  if (request.next_n != 1 && !fixed_tokens) {
    return Error{ErrorCode::invalid_argument, fmt::format("--next-n has no meaning with --mask {}", mask_name(*mask)),
                 "it goes with --paged and --mask context or context_rows"};
  }
  if (request.separate_scales && !paged) {
    return Error{ErrorCode::invalid_argument, "--separate-scales has no meaning without --paged",
                 "contiguous keys have k_scale as a tensor"};
  }
  request.mask = *mask;
  request.num_requests = options.num_requests.value_or(request.num_requests);
  request.num_tokens = options.num_tokens.value_or(request.num_tokens);

  Result<Safetensors> made = make_case(request);
  if (!made) return std::move(made).error();
  Result<Case> result = to_case(*std::move(made), options.output, ScoreType::f32, Fill::none);
  if (!result) return std::move(result).error();
  if (options.with_scores) {
    if (Status added = add_scores(result->file, result->problem); !added) return added.error();
  }
  if (Status written = write_safetensors(options.output, result->file); !written) return written.error();

  Output& output = session.output();
  output.row("case", describe(result->problem));
  output.row("values", request.exact ? "small integers, exact in any order of summation" : "normal, quantised to e4m3");
  output.row("written", fmt::format("{} (seed {})", options.output, request.seed));
  output.set("output", options.output);
  output.set("seed", request.seed);
  output.set("exact", request.exact);
  output.set("exact_bf16", request.exact_bf16);
  output.set("num_tokens", result->problem.num_tokens);
  output.set("num_keys", result->problem.num_keys);
  output.set("num_heads", result->problem.num_heads);
  output.set("depth", result->problem.depth);
  output.set("mask", mask_name(*mask));
  output.set("num_requests", result->problem.num_requests());
  return ExitCode::done;
}

}  // namespace mlaindex::tools
