#include "runtime/score_problem.h"

#include <catch2/catch.hpp>

#include "tests/runtime/problem_builder.h"

namespace mlaindex {
namespace {

OwnedProblem ragged_problem(Mask mask, std::vector<std::int32_t> query_offsets, std::vector<std::int32_t> key_offsets) {
  OwnedProblem owned = random_problem({}, 1);
  owned.query_offsets = std::move(query_offsets);
  owned.key_offsets = std::move(key_offsets);
  owned.problem.mask = mask;
  owned.connect();
  return owned;
}

std::vector<std::pair<std::int64_t, std::int64_t>> ranges_of(const ScoreProblem& problem) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::int64_t token = 0; token < problem.num_tokens; ++token) {
    const KeyRange range = visible_range(problem, token);
    ranges.emplace_back(range.begin, range.end);
  }
  return ranges;
}

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

void check_refused(OwnedProblem owned, void (*change)(OwnedProblem&), const char* message) {
  change(owned);
  owned.connect();
  const Status status = validate(owned.problem);
  REQUIRE_FALSE(status.ok());
  CHECK_THAT(status.error().text(), Catch::Contains(message));
}

}  // namespace

TEST_CASE("given ranges are clamped to the keys and the columns", "[score_problem]") {
  OwnedProblem owned = random_problem({}, 1);
  owned.problem.mask = Mask::ranges;
  owned.row_start = {-7, 5, 36, 40, 3};
  owned.row_end = {4, 5, 99, 50, 2147483647};
  owned.connect();
  REQUIRE(validate(owned.problem).ok());
  CHECK(ranges_of(owned.problem) == Ranges{{0, 4}, {0, 0}, {36, 37}, {0, 0}, {3, 37}});
  owned.problem.num_columns = 30;
  CHECK(ranges_of(owned.problem) == Ranges{{0, 4}, {0, 0}, {0, 0}, {0, 0}, {3, 30}});
  owned.row_start[0] = std::numeric_limits<std::int32_t>::min();
  owned.row_end[0] = std::numeric_limits<std::int32_t>::min();
  CHECK(visible_range(owned.problem, 0).empty());
}

TEST_CASE("ragged masks: requests, tokens outside them, and causality", "[score_problem]") {
  // Requests of 2 and 2 tokens, one without any between them; token 0 and nothing else is outside.
  const std::vector<std::int32_t> queries{1, 3, 3, 5};
  const std::vector<std::int32_t> keys{0, 10, 20, 23};
  const OwnedProblem ragged = ragged_problem(Mask::ragged, queries, keys);
  REQUIRE(validate(ragged.problem).ok());
  CHECK(ranges_of(ragged.problem) == Ranges{{0, 0}, {0, 10}, {0, 10}, {20, 23}, {20, 23}});
  const OwnedProblem causal = ragged_problem(Mask::ragged_causal, queries, keys);
  CHECK(ranges_of(causal.problem) == Ranges{{0, 0}, {0, 9}, {0, 10}, {20, 22}, {20, 23}});
}

TEST_CASE("a causal token may see nothing, and odd key offsets are clamped", "[score_problem]") {
  const OwnedProblem more_queries = ragged_problem(Mask::ragged_causal, {0, 5}, {4, 6});
  CHECK(ranges_of(more_queries.problem) == Ranges{{0, 0}, {0, 0}, {0, 0}, {4, 5}, {4, 6}});
  const OwnedProblem odd = ragged_problem(Mask::ragged, {0, 2, 4, 5}, {-3, 2, 1, 2147483647});
  CHECK(ranges_of(odd.problem) == Ranges{{0, 2}, {0, 2}, {0, 0}, {0, 0}, {1, 37}});
  const OwnedProblem no_requests = ragged_problem(Mask::ragged, {0}, {0});
  REQUIRE(validate(no_requests.problem).ok());
  CHECK(ranges_of(no_requests.problem) == Ranges(5));
}

TEST_CASE("invalid problems are refused with what is wrong", "[score_problem]") {
  const OwnedProblem good = random_problem({}, 1);
  REQUIRE(validate(good.problem).ok());
  check_refused(good, [](OwnedProblem& o) { o.problem.num_heads = 129; }, "num_heads = 129 (allowed: 1 to 128)");
  check_refused(good, [](OwnedProblem& o) { o.problem.depth = 96; }, "depth = 96");
  check_refused(good, [](OwnedProblem& o) { o.problem.num_tokens = -1; }, "num_tokens = -1");
  check_refused(good, [](OwnedProblem& o) { o.problem.num_keys = std::int64_t{1} << 31; }, "num_keys = 2147483648");
  check_refused(good, [](OwnedProblem& o) { o.problem.row_stride = 36; }, "row_stride = 36 (allowed: num_columns = 37");
  check_refused(good, [](OwnedProblem& o) { o.problem.q_scale_stride = 2; }, "q_scale_stride = 2");
  check_refused(
      good, [](OwnedProblem& o) { o.q.pop_back(); }, "q has 959 elements (num_tokens * num_heads * depth = 960");
  check_refused(good, [](OwnedProblem& o) { o.k.push_back(0); }, "k has 2369 elements");
  check_refused(good, [](OwnedProblem& o) { o.k_scale.clear(); }, "k_scale has 0 elements (num_keys = 37");
  check_refused(good, [](OwnedProblem& o) { o.q_scale.resize(18); }, "q_scale has 18 elements");
  check_refused(good, [](OwnedProblem& o) { o.problem.mask = Mask::ranges; }, "row_start has 0 elements");
  check_refused(good, [](OwnedProblem& o) { o.problem.mask = Mask::ragged; }, "query_offsets is empty");
  check_refused(
      ragged_problem(Mask::ragged, {0, 2}, {0}), [](OwnedProblem&) {},
      "query_offsets has 2 elements and key_offsets 1");
  check_refused(
      ragged_problem(Mask::ragged, {0, 3, 2}, {0, 1, 2}), [](OwnedProblem&) {}, "query_offsets[2] = 2 after 3");
}

TEST_CASE("a score buffer holds all rows, gaps included", "[score_problem]") {
  OwnedProblem owned = random_problem({}, 1);
  CHECK(score_buffer_bytes(owned.problem) == 5 * 40 * 4);
  owned.problem.score_type = ScoreType::bf16;
  CHECK(score_buffer_bytes(owned.problem) == 5 * 40 * 2);
  std::vector<std::byte> scores(401);
  CHECK_THAT(validate(owned.problem, scores).error().text(), Catch::Contains("401 bytes") && Catch::Contains("400"));
}

}  // namespace mlaindex
