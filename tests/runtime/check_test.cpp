#include "runtime/check.h"

#include <limits>

#include <catch2/catch.hpp>

#include "runtime/reference.h"
#include "runtime/score_value.h"
#include "tests/runtime/problem_builder.h"

namespace mlaindex {
namespace {

constexpr std::byte poison{0xc3};

// Three rows of ten keys in twelve columns and a gap of one; the middle row is empty.
struct Scored {
  OwnedProblem owned = random_problem({3, 10, 2, 32}, 2);
  std::vector<std::byte> scores;

  explicit Scored(ScoreType type, Fill fill) {
    ScoreProblem& problem = owned.problem;
    problem.mask = Mask::ranges;
    problem.score_type = type;
    problem.fill = fill;
    problem.num_columns = 12;
    owned.row_start = {2, 7, 0};
    owned.row_end = {5, 3, 10};
    owned.connect();
    scores.assign(score_buffer_bytes(problem), poison);
    REQUIRE(reference_scores(problem, scores).ok());
  }

  void set(std::int64_t token, std::int64_t column, std::uint32_t bits) {
    store_score(scores.data(), owned.problem.score_type, token * owned.problem.row_stride + column, bits);
  }

  std::uint32_t bits(std::int64_t token, std::int64_t column) const {
    return load_score(scores.data(), owned.problem.score_type, token * owned.problem.row_stride + column);
  }

  CheckReport check(bool bitwise = false) const {
    CheckOptions options;
    options.bitwise = bitwise;
    options.poison = poison;
    auto report = check_scores(owned.problem, scores, options);
    REQUIRE(report.ok());
    return *report;
  }
};

void check_first(const CheckReport& report, std::int64_t token, std::int64_t column, const char* reason) {
  REQUIRE_FALSE(report.passed());
  CHECK(report.first_mismatch->token == token);
  CHECK(report.first_mismatch->column == column);
  CHECK_THAT(report.first_mismatch->reason, Catch::Contains(reason));
  CHECK_THAT(summary(report), Catch::Contains(reason));
}

}  // namespace

TEST_CASE("the reference's own scores pass, and every slot is looked at", "[check]") {
  for (const ScoreType type : {ScoreType::f32, ScoreType::bf16}) {
    for (const Fill fill : {Fill::none, Fill::negative_infinity}) {
      const Scored scored(type, fill);
      const CheckReport report = scored.check(true);
      CHECK(report.passed());
      CHECK(report.scores_checked == 13);
      CHECK(report.fills_checked == (fill == Fill::none ? 0 : 23));
      CHECK(report.scores_checked + report.fills_checked + report.untouched_checked == 3 * 13);
      CHECK(report.max_error_to_bound <= 1);
      CHECK_THAT(summary(report), Catch::StartsWith("ok: 13 scores"));
    }
  }
}

TEST_CASE("one wrong bit of a score is found", "[check]") {
  Scored scored(ScoreType::f32, Fill::none);
  scored.set(2, 9, scored.bits(2, 9) ^ 1);
  check_first(scored.check(), 2, 9, "beyond the bound");
  scored.set(0, 3, scored.bits(0, 3) ^ 1);
  const CheckReport report = scored.check(true);
  check_first(report, 0, 3, "not the exact score");
  CHECK(report.mismatches == 2);
}

TEST_CASE("a zero of the other sign is within any bound, but not bitwise equal", "[check]") {
  Scored scored(ScoreType::f32, Fill::none);
  std::fill(scored.owned.q_scale.begin(), scored.owned.q_scale.end(), 0.0F);
  for (std::int64_t column = 2; column < 5; ++column) scored.set(0, column, 0x80000000);
  for (std::int64_t column = 0; column < 10; ++column) scored.set(2, column, 0);
  CHECK(scored.check().passed());
  CHECK_FALSE(scored.check(true).passed());
}

TEST_CASE("writes where nothing may be written are found", "[check]") {
  for (const auto& [token, column] :
       {std::pair{0, 1}, std::pair{0, 5}, std::pair{1, 7}, std::pair{2, 10}, std::pair{2, 12}}) {
    Scored scored(ScoreType::bf16, Fill::none);
    scored.set(token, column, 0xc3c2);
    check_first(scored.check(), token, column, "written outside the visible range");
  }
  Scored padded(ScoreType::f32, Fill::negative_infinity);
  padded.set(1, 12, 0);
  check_first(padded.check(), 1, 12, "written outside the visible range");
}

TEST_CASE("missing fills are found", "[check]") {
  Scored scored(ScoreType::f32, Fill::negative_infinity);
  scored.set(1, 11, 0xc3c3c3c3);
  scored.set(0, 6, 0x7f800000);
  const CheckReport report = scored.check();
  check_first(report, 0, 6, "not -inf");
  CHECK(report.mismatches == 2);
}

TEST_CASE("NaN is demanded where an input is NaN, and refused elsewhere", "[check]") {
  Scored scored(ScoreType::f32, Fill::none);
  const std::uint32_t before = scored.bits(0, 4);
  scored.set(0, 4, 0x7fc00000);
  check_first(scored.check(), 0, 4, "beyond the bound");
  scored.owned.k_scale[4] = std::numeric_limits<float>::quiet_NaN();
  scored.set(2, 4, 0xffffffff);
  CHECK(scored.check(true).passed());
  scored.set(0, 4, before);
  check_first(scored.check(), 0, 4, "not NaN although an input is");
}

TEST_CASE("a buffer of the wrong size is an error, not a report", "[check]") {
  Scored scored(ScoreType::f32, Fill::none);
  scored.scores.pop_back();
  CHECK(check_scores(scored.owned.problem, scored.scores, {}).error().code == ErrorCode::invalid_argument);
}

}  // namespace mlaindex
