#include "runtime/score_problem.h"

#include <algorithm>

#include "generator/base/format.h"

namespace mlaindex {
namespace {

constexpr std::int64_t max_stride = std::int64_t{1} << 40;

Error invalid(std::string message, std::string hint) {
  return {ErrorCode::invalid_argument, std::move(message), std::move(hint)};
}

Status check_extent(std::string_view name, std::int64_t extent) {
  if (extent >= 0 && extent <= max_extent) return {};
  return invalid(fmt::format("{} = {}", name, extent), fmt::format("allowed: 0 to {}", max_extent));
}

Status check_stride(std::string_view name, std::int64_t stride, std::string_view width_name,
                    std::int64_t width) {
  if (stride >= width && stride <= max_stride) return {};
  return invalid(fmt::format("{} = {}", name, stride),
                 fmt::format("allowed: {} = {} to {} elements", width_name, width, max_stride));
}

Status check_size(std::string_view name, std::size_t given, std::int64_t wanted, std::string_view shape) {
  if (given == static_cast<std::size_t>(wanted)) return {};
  return invalid(fmt::format("{} has {} elements", name, given),
                 fmt::format("{} = {} are needed", shape, wanted));
}

Status check_extents(const ScoreProblem& problem) {
  if (Status status = check_extent("num_tokens", problem.num_tokens); !status) return status;
  if (Status status = check_extent("num_keys", problem.num_keys); !status) return status;
  if (Status status = check_extent("num_columns", problem.num_columns); !status) return status;
  if (Status status = check_stride("row_stride", problem.row_stride, "num_columns", problem.num_columns); !status)
    return status;
  return check_stride("q_scale_stride", problem.q_scale_stride, "num_heads", problem.num_heads);
}

Status check_ranges(const ScoreProblem& problem) {
  if (Status status = check_size("row_start", problem.row_start.size(), problem.num_tokens, "num_tokens"); !status)
    return status;
  return check_size("row_end", problem.row_end.size(), problem.num_tokens, "num_tokens");
}

Status check_offsets(const ScoreProblem& problem) {
  if (problem.query_offsets.empty())
    return invalid("query_offsets is empty", "a ragged mask needs num_requests + 1 offsets");
  if (problem.layout == Layout::contiguous && problem.key_offsets.size() != problem.query_offsets.size())
    return invalid(fmt::format("query_offsets has {} elements and key_offsets {}", problem.query_offsets.size(),
                               problem.key_offsets.size()),
                   "both need num_requests + 1");
  if (problem.num_requests() > max_extent - 1)
    return invalid(fmt::format("{} requests", problem.num_requests()),
                   fmt::format("allowed: up to {}", max_extent - 1));
  const auto falling = std::is_sorted_until(problem.query_offsets.begin(), problem.query_offsets.end());
  if (falling != problem.query_offsets.end()) {
    const auto at = falling - problem.query_offsets.begin();
    return invalid(fmt::format("query_offsets[{}] = {} after {}", at, *falling, *(falling - 1)),
                   "the offsets must not decrease");
  }
  return {};
}

Status check_contiguous_keys(const ScoreProblem& problem) {
  if (Status status = check_size("k", problem.k.size(), problem.num_keys * problem.depth, "num_keys * depth"); !status)
    return status;
  return check_size("k_scale", problem.k_scale.size(), problem.num_keys, "num_keys");
}

Status check_paged_keys(const ScoreProblem& problem) {
  const PagedKeys& paged = problem.paged;
  if (Status status = validate(paged, problem.depth); !status) return status;
  if (problem.num_keys != paged.max_context())
    return invalid(fmt::format("num_keys = {}", problem.num_keys),
                   fmt::format("pages_per_request * page_size = {} is needed", paged.max_context()));
  const bool rows = problem.mask == Mask::context_rows;
  if (Status status = check_size("context_lens", paged.context_lens.size(), rows ? problem.num_tokens : paged.num_requests,
                                 rows ? "num_tokens" : "num_requests");
      !status)
    return status;
  if (is_ragged(problem.mask)) {
    return check_size("query_offsets", problem.query_offsets.size(), paged.num_requests + 1, "num_requests + 1");
  }
  if (problem.num_tokens == paged.num_requests * paged.next_n) return {};
  return invalid(fmt::format("num_tokens = {}", problem.num_tokens),
                 fmt::format("num_requests * next_n = {} is needed", paged.num_requests * paged.next_n));
}

}  // namespace

Status validate(const ScoreProblem& problem) {
  if (Status status = validate(spec_for(problem, Arch::sm_90a)); !status) return status;
  if (Status status = check_extents(problem); !status) return status;
  if (Status status = check_size("q", problem.q.size(), problem.num_tokens * problem.num_heads * problem.depth,
                                 "num_tokens * num_heads * depth");
      !status)
    return status;
  const bool paged = problem.layout == Layout::paged;
  if (Status status = paged ? check_paged_keys(problem) : check_contiguous_keys(problem); !status) return status;
  const std::int64_t q_scales =
      problem.num_tokens == 0 ? 0 : (problem.num_tokens - 1) * problem.q_scale_stride + problem.num_heads;
  if (problem.q_scale.size() < static_cast<std::size_t>(q_scales)) {
    return invalid(fmt::format("q_scale has {} elements", problem.q_scale.size()),
                   fmt::format("(num_tokens - 1) * q_scale_stride + num_heads = {} are needed", q_scales));
  }
  switch (problem.mask) {
    case Mask::full:
    case Mask::context:
    case Mask::context_rows: return {};
    case Mask::ranges: return check_ranges(problem);
    case Mask::ragged:
    case Mask::ragged_causal: return check_offsets(problem);
  }
  return {};
}

std::size_t score_bytes(ScoreType type) noexcept { return type == ScoreType::f32 ? 4 : 2; }

std::size_t score_buffer_bytes(const ScoreProblem& problem) noexcept {
  return static_cast<std::size_t>(problem.num_tokens) * static_cast<std::size_t>(problem.row_stride) *
         score_bytes(problem.score_type);
}

Status validate(const ScoreProblem& problem, std::span<const std::byte> scores) {
  if (scores.size() == score_buffer_bytes(problem)) return {};
  return invalid(fmt::format("the buffer for scores has {} bytes", scores.size()),
                 fmt::format("num_tokens * row_stride * {} = {} are needed", score_bytes(problem.score_type),
                             score_buffer_bytes(problem)));
}

KeyRange visible_range(const ScoreProblem& problem, std::int64_t token) noexcept {
  const auto index = static_cast<std::size_t>(token);
  std::int64_t begin = 0;
  std::int64_t end = problem.num_keys;
  if (problem.mask == Mask::context || problem.mask == Mask::context_rows) {
    const auto next_n = static_cast<std::int64_t>(problem.paged.next_n);
    const bool rows = problem.mask == Mask::context_rows;
    end = problem.paged.context_lens[rows ? index : static_cast<std::size_t>(token / next_n)];
    if (!rows) end -= next_n - 1 - token % next_n;
  } else if (problem.mask == Mask::ranges) {
    begin = problem.row_start[index];
    end = problem.row_end[index];
  } else if (problem.mask != Mask::full) {
    const auto offsets = problem.query_offsets;
    const auto next = std::upper_bound(offsets.begin(), offsets.end(), token);
    if (next == offsets.begin() || next == offsets.end()) return {};
    const auto request = static_cast<std::size_t>(next - offsets.begin()) - 1;
    if (problem.layout == Layout::paged) {
      end = problem.paged.context_lens[request];
    } else {
      begin = problem.key_offsets[request];
      end = problem.key_offsets[request + 1];
    }
    // The last token of a request sees all of its keys, the one before it all but one, and so on.
    if (problem.mask == Mask::ragged_causal) end -= *next - 1 - token;
  }
  begin = std::max<std::int64_t>(begin, 0);
  end = std::min({end, problem.num_keys, problem.num_columns});
  return begin < end ? KeyRange{begin, end} : KeyRange{};
}

std::int64_t request_of(const ScoreProblem& problem, std::int64_t token) noexcept {
  if (problem.layout == Layout::contiguous) return 0;
  if (!is_ragged(problem.mask)) return token / problem.paged.next_n;
  const auto offsets = problem.query_offsets;
  const auto next = std::upper_bound(offsets.begin(), offsets.end(), token);
  return std::max<std::int64_t>(next - offsets.begin() - 1, 0);
}

KeyView key_view(const ScoreProblem& problem, std::int64_t request, std::int64_t key) noexcept {
  if (problem.layout == Layout::paged) return key_of_request(problem.paged, problem.depth, request, key);
  const auto depth = static_cast<std::size_t>(problem.depth);
  const auto index = static_cast<std::size_t>(key);
  return {problem.k.subspan(index * depth, depth), problem.k_scale[index]};
}

ProblemSize size_of(const ScoreProblem& problem) noexcept {
  return {static_cast<int>(problem.num_tokens), static_cast<int>(problem.num_keys), static_cast<int>(problem.num_requests())};
}

Spec spec_for(const ScoreProblem& problem, Arch arch) noexcept {
  return {.arch = arch, .num_heads = problem.num_heads, .depth = problem.depth, .mask = problem.mask,
          .score_type = problem.score_type, .fill = problem.fill, .layout = problem.layout,
          .page_size = problem.layout == Layout::paged ? problem.paged.page_size : 0, .fold = problem.fold};
}

}  // namespace mlaindex
