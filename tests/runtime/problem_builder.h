// Score problems over data of their own, for tests.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "runtime/score_problem.h"

namespace mlaindex {

struct OwnedProblem {
  std::vector<std::uint8_t> q, k;
  std::vector<float> q_scale, k_scale;
  std::vector<std::int32_t> row_start, row_end, query_offsets, key_offsets;
  ScoreProblem problem;

  // Points the problem's spans at the data.
  void connect() {
    problem.q = q;
    problem.k = k;
    problem.q_scale = q_scale;
    problem.k_scale = k_scale;
    problem.row_start = row_start;
    problem.row_end = row_end;
    problem.query_offsets = query_offsets;
    problem.key_offsets = key_offsets;
  }
};

struct ProblemShape {
  int num_tokens = 5;
  int num_keys = 37;
  int num_heads = 3;
  int depth = 64;
};

// Values of every magnitude and both signs, no NaN, a full mask, and gaps after the rows of q_scale
// and of the scores.
inline OwnedProblem random_problem(const ProblemShape& shape, unsigned seed) {
  std::mt19937 random(seed);
  OwnedProblem owned;
  ScoreProblem& problem = owned.problem;
  problem.num_heads = shape.num_heads;
  problem.depth = shape.depth;
  problem.num_tokens = shape.num_tokens;
  problem.num_keys = problem.num_columns = shape.num_keys;
  problem.row_stride = shape.num_keys + 3;
  problem.q_scale_stride = shape.num_heads + 1;
  const auto bytes = [&](std::int64_t count) {
    std::vector<std::uint8_t> values(static_cast<std::size_t>(count));
    for (std::uint8_t& value : values) {
      do value = static_cast<std::uint8_t>(random());
      while ((value & 0x7f) == 0x7f);
    }
    return values;
  };
  std::normal_distribution<float> normal;
  const auto floats = [&](std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = normal(random);
    return values;
  };
  owned.q = bytes(problem.num_tokens * problem.num_heads * problem.depth);
  owned.k = bytes(problem.num_keys * problem.depth);
  owned.q_scale = floats(problem.num_tokens * problem.q_scale_stride);
  owned.k_scale = floats(problem.num_keys);
  owned.connect();
  return owned;
}

}  // namespace mlaindex
