#include "runtime/reference.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include <catch2/catch.hpp>

#include "runtime/e4m3.h"
#include "runtime/score_value.h"
#include "tests/runtime/problem_builder.h"

namespace mlaindex {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Score {
  double value = 0;
  double magnitude = 0;  // sum of the absolute values that were added
};

// The contract, word for word.
Score plain_score(const ScoreProblem& problem, std::int64_t token, std::int64_t key) {
  Score score;
  for (std::int64_t head = 0; head < problem.num_heads; ++head) {
    double dot = 0;
    for (std::int64_t d = 0; d < problem.depth; ++d) {
      dot += e4m3_value(problem.q[static_cast<std::size_t>((token * problem.num_heads + head) * problem.depth + d)]) *
             e4m3_value(problem.k[static_cast<std::size_t>(key * problem.depth + d)]);
    }
    const double positive = std::isnan(dot) ? dot : std::max(dot, 0.0);
    const double scale = problem.q_scale[static_cast<std::size_t>(token * problem.q_scale_stride + head)];
    score.value += positive * scale;
    score.magnitude += std::fabs(positive * scale);
  }
  const double k_scale = problem.k_scale[static_cast<std::size_t>(key)];
  return {score.value * k_scale, score.magnitude * std::fabs(k_scale)};
}

std::vector<std::byte> scores_of(const ScoreProblem& problem, std::byte before) {
  std::vector<std::byte> scores(score_buffer_bytes(problem), before);
  REQUIRE(reference_scores(problem, scores).ok());
  return scores;
}

double score_at(const ScoreProblem& problem, const std::vector<std::byte>& scores, std::int64_t token,
                std::int64_t column) {
  return score_value(problem.score_type,
                     load_score(scores.data(), problem.score_type, token * problem.row_stride + column));
}

}  // namespace

TEST_CASE("the reference is the contract, word for word", "[reference]") {
  for (const ProblemShape& shape : {ProblemShape{5, 37, 3, 64}, ProblemShape{1, 1, 1, 32}, ProblemShape{9, 16, 12, 128},
                                    ProblemShape{4, 17, 128, 32}}) {
    OwnedProblem owned = random_problem(shape, 7);
    ScoreProblem& problem = owned.problem;
    std::atomic<int> rows = 0;
    double worst = 0;
    const auto compare = [&](const ReferenceRow& row) {
      ++rows;
      if (row.scores.size() != static_cast<std::size_t>(row.visible.size()) || !row.bounds.empty()) worst = nan;
      for (std::size_t i = 0; i < row.scores.size(); ++i) {
        const Score want = plain_score(problem, row.token, row.visible.begin + static_cast<std::int64_t>(i));
        worst = std::max(worst, std::fabs(row.scores[i] - want.value) - 1e-13 * want.magnitude);
      }
    };
    REQUIRE(for_each_reference_row(problem, exact_accumulation, compare, 1).ok());
    CHECK(rows == shape.num_tokens);
    CHECK(worst <= 0);
  }
}

TEST_CASE("every token is visited once, whatever the threads, and bounds come when asked", "[reference]") {
  OwnedProblem owned = random_problem({23, 40, 2, 32}, 3);
  owned.problem.mask = Mask::ranges;
  for (std::int32_t token = 0; token < 23; ++token) {
    owned.row_start.push_back(token);
    owned.row_end.push_back(token % 5 == 0 ? 0 : 40 - token);
  }
  owned.connect();
  for (const int threads : {0, 1, 3, 64}) {
    std::vector<std::atomic<int>> visits(23);
    std::atomic<bool> as_expected = true;
    const auto visit = [&](const ReferenceRow& row) {
      ++visits[static_cast<std::size_t>(row.token)];
      const KeyRange range = visible_range(owned.problem, row.token);
      if (range.begin != row.visible.begin || range.end != row.visible.end) as_expected = false;
      if (row.scores.size() != static_cast<std::size_t>(range.size())) as_expected = false;
      if (row.bounds.size() != row.scores.size()) as_expected = false;
    };
    REQUIRE(for_each_reference_row(owned.problem, accumulation_model(Arch::sm_90a), visit, threads).ok());
    for (const auto& count : visits) CHECK(count == 1);
    CHECK(as_expected);
  }
}

TEST_CASE("NaN reaches the scores that use it, and no others", "[reference]") {
  OwnedProblem owned = random_problem({3, 20, 2, 32}, 5);
  const auto clean = scores_of(owned.problem, std::byte{0});
  owned.q[static_cast<std::size_t>((1 * 2 + 1) * 32 + 9)] = 0xff;
  owned.k[static_cast<std::size_t>(13 * 32 + 31)] = 0x7f;
  owned.k_scale[4] = std::numeric_limits<float>::quiet_NaN();
  const auto scores = scores_of(owned.problem, std::byte{0});
  for (std::int64_t token = 0; token < 3; ++token) {
    for (std::int64_t key = 0; key < 20; ++key) {
      const double got = score_at(owned.problem, scores, token, key);
      if (token == 1 || key == 13 || key == 4) {
        CHECK(std::isnan(got));
      } else {
        CHECK(got == score_at(owned.problem, clean, token, key));
      }
    }
  }
}

TEST_CASE("a head cut off by relu adds +0, whatever the signs", "[reference]") {
  OwnedProblem owned = random_problem({1, 2, 1, 32}, 1);
  std::fill(owned.q.begin(), owned.q.end(), std::uint8_t{0xb8});  // -1
  std::fill(owned.k.begin(), owned.k.end(), std::uint8_t{0x38});  // 1
  owned.q_scale[0] = -3;
  owned.k_scale = {2, -2};
  owned.connect();
  const auto scores = scores_of(owned.problem, std::byte{0x55});
  CHECK(load_score(scores.data(), ScoreType::f32, 0) == 0x00000000);
  CHECK(load_score(scores.data(), ScoreType::f32, 1) == 0x80000000);
}

TEST_CASE("only visible slots are written, or the rest of the columns is filled", "[reference]") {
  for (const ScoreType type : {ScoreType::f32, ScoreType::bf16}) {
    for (const Fill fill : {Fill::none, Fill::negative_infinity}) {
      OwnedProblem owned = random_problem({3, 10, 2, 32}, 2);
      ScoreProblem& problem = owned.problem;
      problem.mask = Mask::ranges;
      problem.score_type = type;
      problem.fill = fill;
      problem.num_columns = 12;
      owned.row_start = {2, 7, 0};
      owned.row_end = {5, 3, 99};
      owned.connect();
      const std::byte poison{0x5a};
      const auto scores = scores_of(problem, poison);
      for (std::int64_t token = 0; token < 3; ++token) {
        const KeyRange visible = visible_range(problem, token);
        for (std::int64_t column = 0; column < problem.row_stride; ++column) {
          const std::uint32_t bits = load_score(scores.data(), type, token * problem.row_stride + column);
          if (column >= visible.begin && column < visible.end) {
            const Score want = plain_score(problem, token, column);
            CHECK(std::fabs(score_value(type, bits) - want.value) <=
                  std::fabs(want.value) * (type == ScoreType::f32 ? 0x1p-24 : 0x1p-8) + 1e-13 * want.magnitude);
          } else if (column < 12 && fill == Fill::negative_infinity) {
            CHECK(bits == (type == ScoreType::f32 ? 0xff800000 : 0xff80));
          } else {
            CHECK(bits == (type == ScoreType::f32 ? 0x5a5a5a5a : 0x5a5a));
          }
        }
      }
    }
  }
}

TEST_CASE("the reference refuses what validate refuses", "[reference]") {
  OwnedProblem owned = random_problem({}, 1);
  std::vector<std::byte> scores(3);
  CHECK(reference_scores(owned.problem, scores).error().code == ErrorCode::invalid_argument);
  owned.problem.depth = 48;
  CHECK(for_each_reference_row(owned.problem, exact_accumulation, [](const ReferenceRow&) {}).error().code ==
        ErrorCode::unsupported_shape);
}

}  // namespace mlaindex
