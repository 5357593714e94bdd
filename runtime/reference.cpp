#include "runtime/reference.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "generator/base/format.h"
#include "runtime/e4m3.h"
#include "runtime/score_value.h"

namespace mlaindex {
namespace {

constexpr int max_depth = 128;
constexpr int max_steps = max_depth / accumulation_step;
constexpr std::int64_t block_keys = 16;       // one lane per key; a decoded block stays in the first cache
constexpr std::int64_t tokens_per_group = 4;  // that share a decoded block

using Lanes = std::array<double, block_keys>;

double relu(double x) noexcept { return x > 0 ? x : (x <= 0 ? 0.0 : x); }

// A block of a request's keys, one lane each; lanes of keys that nobody sees are zero.
struct KeyBlock {
  std::array<Lanes, max_depth> elements;
  std::array<Lanes, max_steps> largest_power;  // per accumulation step
  Lanes scale;

  // Keys first_key to end, of which the block holds the first few.
  void decode(const ScoreProblem& problem, std::int64_t request, std::int64_t first_key, std::int64_t end) noexcept {
    const std::int64_t count = std::min(block_keys, end - first_key);
    for (Lanes& lanes : elements) lanes.fill(0);
    for (Lanes& lanes : largest_power) lanes.fill(0);
    scale.fill(0);
    for (std::int64_t key = 0; key < count; ++key) {
      const auto lane = static_cast<std::size_t>(key);
      const KeyView view = key_view(problem, request, first_key + key);
      const auto bytes = view.elements;
      scale[lane] = view.scale;
      for (std::size_t d = 0; d < bytes.size(); ++d) {
        elements[d][lane] = e4m3_value(bytes[d]);
        double& power = largest_power[d / accumulation_step][lane];
        power = std::max(power, e4m3_power(bytes[d]));
      }
    }
  }
};

// A token's decoded queries and the row that is being computed.
struct TokenRow {
  std::int64_t token = 0;
  KeyRange visible;
  std::vector<double> q;              // [num_heads, depth]
  std::vector<double> largest_power;  // [num_heads, steps]
  std::vector<double> q_scale;        // [num_heads]
  std::vector<double> scores, bounds;

  void begin(const ScoreProblem& problem, std::int64_t wanted, bool with_bounds) {
    token = wanted;
    visible = visible_range(problem, token);
    const auto heads = static_cast<std::size_t>(problem.num_heads);
    const auto depth = static_cast<std::size_t>(problem.depth);
    const auto bytes = problem.q.subspan(static_cast<std::size_t>(token) * heads * depth, heads * depth);
    const auto scales =
        problem.q_scale.subspan(static_cast<std::size_t>(token * problem.q_scale_stride), heads);
    q.resize(bytes.size());
    std::transform(bytes.begin(), bytes.end(), q.begin(), e4m3_value);
    q_scale.assign(scales.begin(), scales.end());
    largest_power.assign(bytes.size() / accumulation_step, 0);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      double& power = largest_power[i / accumulation_step];
      power = std::max(power, e4m3_power(bytes[i]));
    }
    scores.resize(static_cast<std::size_t>(visible.size()));
    bounds.resize(with_bounds ? scores.size() : 0);
  }
};

void add_products(const double* q, const Lanes* keys, Lanes& dot) noexcept {
  Lanes sum = dot;
  for (int d = 0; d < accumulation_step; ++d) {
    for (std::size_t lane = 0; lane < sum.size(); ++lane) sum[lane] += q[d] * keys[d][lane];
  }
  dot = sum;
}

struct BlockScores {
  Lanes sums{}, weighted_bounds{}, weighted_dots{};
};

template <bool with_bounds>
BlockScores fold_heads(const ScoreProblem& problem, const AccumulationModel& model, const TokenRow& row,
                       const KeyBlock& keys) noexcept {
  BlockScores result;
  const auto steps = static_cast<std::size_t>(problem.depth / accumulation_step);
  for (std::size_t head = 0; head < row.q_scale.size(); ++head) {
    Lanes dot{}, error{};
    for (std::size_t step = 0; step < steps; ++step) {
      const std::size_t at = head * steps + step;
      const Lanes before = dot;
      add_products(&row.q[at * accumulation_step], &keys.elements[step * accumulation_step], dot);
      if constexpr (with_bounds) {
        for (std::size_t lane = 0; lane < dot.size(); ++lane) {
          error[lane] = step_bound(model, error[lane], std::fabs(before[lane]), std::fabs(dot[lane]),
                                   row.largest_power[at] * keys.largest_power[step][lane]);
        }
      }
    }
    const double scale = row.q_scale[head];
    for (std::size_t lane = 0; lane < dot.size(); ++lane) {
      const double positive = relu(dot[lane]);
      result.sums[lane] += positive * scale;
      if constexpr (with_bounds) {
        const double left = relu_bound(dot[lane], error[lane]);
        result.weighted_bounds[lane] += std::fabs(scale) * left;
        result.weighted_dots[lane] += std::fabs(scale) * (positive + left);
      }
    }
    if (with_bounds && problem.fold == FoldType::bf16 && std::fabs(scale) >= least_infinite_bf16) {
      result.weighted_dots.fill(std::numeric_limits<double>::infinity());
    }
  }
  return result;
}

void score_block(const ScoreProblem& problem, const AccumulationModel& model, std::int64_t first_key,
                 const KeyBlock& keys, TokenRow& row) noexcept {
  const std::int64_t begin = std::max(first_key, row.visible.begin);
  const std::int64_t end = std::min(first_key + block_keys, row.visible.end);
  if (begin >= end) return;
  const BlockScores block = model.exact ? fold_heads<false>(problem, model, row, keys)
                                        : fold_heads<true>(problem, model, row, keys);
  for (std::int64_t key = begin; key < end; ++key) {
    const auto lane = static_cast<std::size_t>(key - first_key);
    const auto slot = static_cast<std::size_t>(key - row.visible.begin);
    const double k_scale = keys.scale[lane];
    row.scores[slot] = block.sums[lane] * k_scale;
    if (!model.exact) {
      row.bounds[slot] =
          score_bound(problem.num_heads, problem.fold, block.weighted_bounds[lane], block.weighted_dots[lane], k_scale);
    }
  }
}

// Of tokens that see keys of one request.
void score_group(const ScoreProblem& problem, const AccumulationModel& model, std::int64_t request,
                 std::span<TokenRow> rows, KeyBlock& keys) noexcept {
  std::int64_t begin = problem.num_keys;
  std::int64_t end = 0;
  for (const TokenRow& row : rows) {
    if (row.visible.empty()) continue;
    begin = std::min(begin, row.visible.begin);
    end = std::max(end, row.visible.end);
  }
  for (std::int64_t first = begin - begin % block_keys; first < end; first += block_keys) {
    const bool seen = std::any_of(rows.begin(), rows.end(), [&](const TokenRow& row) {
      return row.visible.begin < first + block_keys && first < row.visible.end;
    });
    if (!seen) continue;
    keys.decode(problem, request, first, end);
    for (TokenRow& row : rows) score_block(problem, model, first, keys, row);
  }
}

void score_rows(const ScoreProblem& problem, const AccumulationModel& model, std::span<TokenRow> rows,
                KeyBlock& keys) noexcept {
  while (!rows.empty()) {
    const std::int64_t request = request_of(problem, rows.front().token);
    std::size_t count = 1;
    while (count < rows.size() && request_of(problem, rows[count].token) == request) ++count;
    score_group(problem, model, request, rows.first(count), keys);
    rows = rows.subspan(count);
  }
}

// Takes groups of tokens until none is left.
void score_groups(const ScoreProblem& problem, const AccumulationModel& model, const ReferenceVisitor& visit,
                  std::atomic<std::int64_t>& next_token) {
  const auto keys = std::make_unique<KeyBlock>();
  std::array<TokenRow, tokens_per_group> rows;
  for (;;) {
    const std::int64_t first = next_token.fetch_add(tokens_per_group);
    if (first >= problem.num_tokens) return;
    const auto count = static_cast<std::size_t>(std::min(tokens_per_group, problem.num_tokens - first));
    for (std::size_t i = 0; i < count; ++i) rows[i].begin(problem, first + static_cast<std::int64_t>(i), !model.exact);
    score_rows(problem, model, std::span(rows).first(count), *keys);
    for (std::size_t i = 0; i < count; ++i) {
      visit({rows[i].token, rows[i].visible, rows[i].scores, rows[i].bounds});
    }
  }
}

}  // namespace

Status for_each_reference_row(const ScoreProblem& problem, const AccumulationModel& model,
                              const ReferenceVisitor& visit, int num_threads) {
  if (Status status = validate(problem); !status) return status;
  std::atomic<std::int64_t> next_token = 0;
  std::atomic<bool> out_of_memory = false;
  const auto work = [&] {
    try {
      score_groups(problem, model, visit, next_token);
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  };
  const std::int64_t groups = (problem.num_tokens + tokens_per_group - 1) / tokens_per_group;
  const std::int64_t wanted = num_threads > 0 ? num_threads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> helpers;
  try {
    while (static_cast<std::int64_t>(helpers.size()) + 1 < std::min(wanted, groups)) helpers.emplace_back(work);
  } catch (const std::exception&) {
    // Fewer threads than wanted: this one and those that started do all the work.
  }
  work();
  helpers.clear();
  if (out_of_memory) {
    return Error{ErrorCode::out_of_memory,
                 fmt::format("no memory for reference rows of {} keys", problem.num_keys),
                 "score fewer keys, or use fewer threads"};
  }
  return {};
}

Status reference_scores(const ScoreProblem& problem, ScoreBuffer scores, int num_threads) {
  if (Status status = validate(problem); !status) return status;
  if (Status status = validate(problem, scores); !status) return status;
  const std::uint32_t hidden = score_bits(problem.score_type, -std::numeric_limits<double>::infinity());
  const auto write_row = [&](const ReferenceRow& row) {
    std::byte* out = scores.data() + static_cast<std::size_t>(row.token * problem.row_stride) *
                                         score_bytes(problem.score_type);
    if (problem.fill == Fill::negative_infinity) {
      for (std::int64_t column = 0; column < problem.num_columns; ++column) {
        store_score(out, problem.score_type, column, hidden);
      }
    }
    for (std::size_t i = 0; i < row.scores.size(); ++i) {
      store_score(out, problem.score_type, row.visible.begin + static_cast<std::int64_t>(i),
                  score_bits(problem.score_type, row.scores[i]));
    }
  };
  return for_each_reference_row(problem, exact_accumulation, write_row, num_threads);
}

}  // namespace mlaindex
