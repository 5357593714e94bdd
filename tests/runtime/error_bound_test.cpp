// The bound against a simulation of the published accumulation model (see runtime/error_bound.h),
// written here from its description: it must hold on every score, and still be tight enough to show
// one lost head and two exchanged key tiles.
#include "runtime/error_bound.h"

#include <cmath>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/check.h"
#include "runtime/e4m3.h"
#include "runtime/reference.h"
#include "runtime/score_value.h"
#include "tests/runtime/problem_builder.h"

namespace mlaindex {
namespace {

struct TensorCore {
  int fraction_bits, mantissa_bits;

  // One instruction: c + sum q[i] * k[i] over 32 elements.
  float accumulate(float c, const std::uint8_t* q, const std::uint8_t* k) const {
    double terms[accumulation_step + 1];
    double largest = c == 0 ? 0 : std::ldexp(1.0, std::ilogb(c));
    for (int i = 0; i < accumulation_step; ++i) {
      terms[i] = e4m3_value(q[i]) * e4m3_value(k[i]);
      if (terms[i] != 0) largest = std::max(largest, e4m3_power(q[i]) * e4m3_power(k[i]));
    }
    terms[accumulation_step] = c;
    if (largest == 0) return 0;
    const double unit = std::ldexp(largest, -fraction_bits);
    double sum = 0;
    for (const double term : terms) sum += std::trunc(term / unit);
    if (sum == 0) return 0;
    const double last_place = std::ldexp(1.0, std::ilogb(sum) - mantissa_bits);
    return static_cast<float>(std::trunc(sum / last_place) * last_place * unit);
  }
};

constexpr TensorCore hopper{13, 13};
constexpr TensorCore blackwell{25, 23};

TensorCore tensor_core(Arch arch) { return arch == Arch::sm_90a ? hopper : blackwell; }

// What goes wrong in a simulated kernel.
struct Fault {
  std::int64_t lost_head = -1;
  std::int64_t exchanged_keys = 0;  // the first two tiles of this many keys
};

float as_bf16(double value) { return static_cast<float>(bf16_value(bf16_bits(value))); }

std::vector<std::byte> simulate(const ScoreProblem& problem, const TensorCore& core, const Fault& fault = {}) {
  std::vector<std::byte> scores(score_buffer_bytes(problem));
  const std::int64_t depth = problem.depth;
  for (std::int64_t token = 0; token < problem.num_tokens; ++token) {
    for (std::int64_t column = 0; column < problem.num_keys; ++column) {
      const std::int64_t tile = fault.exchanged_keys;
      const std::int64_t key = column < tile ? column + tile : (column < 2 * tile ? column - tile : column);
      float sum = 0, run = 0;
      int products = 0;
      for (std::int64_t head = problem.num_heads - 1; head >= 0; --head) {
        if (head == fault.lost_head) continue;
        float dot = 0;
        for (std::int64_t d = 0; d < depth; d += accumulation_step) {
          dot = core.accumulate(dot,
                                &problem.q[static_cast<std::size_t>((token * problem.num_heads + head) * depth + d)],
                                &problem.k[static_cast<std::size_t>(key * depth + d)]);
        }
        const float weight = problem.q_scale[static_cast<std::size_t>(token * problem.q_scale_stride + head)];
        if (problem.fold == FoldType::bf16) {
          run = as_bf16(double{as_bf16(std::max(dot, 0.0F))} * as_bf16(weight) + run);
          if (++products % bf16_run == 0) sum += std::exchange(run, 0.0F);
          continue;
        }
        const float weighted = std::max(dot, 0.0F) * weight;
        sum += weighted;
      }
      sum += run;
      const double score = sum * problem.k_scale[static_cast<std::size_t>(column)];
      store_score(scores.data(), problem.score_type, token * problem.row_stride + column,
                  score_bits(problem.score_type, static_cast<float>(score)));
    }
  }
  return scores;
}

// Bytes that are like quantised activations: normal values scaled into the format's range.
void make_normal(OwnedProblem& owned, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 60);
  const auto nearest = [](double value) {
    std::uint8_t best = 0;
    for (unsigned bits = 0; bits < 256; ++bits) {
      const auto candidate = static_cast<std::uint8_t>(bits);
      if ((bits & 0x7f) != 0x7f && std::fabs(e4m3_value(candidate) - value) < std::fabs(e4m3_value(best) - value))
        best = candidate;
    }
    return best;
  };
  for (std::uint8_t& value : owned.q) value = nearest(normal(random));
  for (std::uint8_t& value : owned.k) value = nearest(normal(random));
}

CheckReport check(const ScoreProblem& problem, const std::vector<std::byte>& scores, Arch arch) {
  CheckOptions options;
  options.accumulation = accumulation_model(arch);
  auto report = check_scores(problem, scores, options);
  REQUIRE(report.ok());
  return *report;
}

}  // namespace

TEST_CASE("the bound holds for the published model, and is within an order of it", "[error_bound]") {
  for (const Arch arch : all_archs) {
    for (const ScoreType type : {ScoreType::f32, ScoreType::bf16}) {
      for (const ProblemShape& shape :
           {ProblemShape{6, 150, 1, 32}, ProblemShape{6, 150, 4, 64}, ProblemShape{6, 150, 64, 128}}) {
        for (const bool normal : {false, true}) {
          OwnedProblem owned = random_problem(shape, 11);
          if (normal) make_normal(owned, 12);
          owned.problem.score_type = type;
          const CheckReport report = check(owned.problem, simulate(owned.problem, tensor_core(arch)), arch);
          INFO(arch_name(arch) << ' ' << score_type_name(type) << ' ' << shape.num_heads
                               << " heads: " << summary(report));
          CHECK(report.passed());
          CHECK(report.max_error_to_bound > 0.01);
        }
      }
    }
  }
}

TEST_CASE("the bound of a bf16 fold holds for one in any order, and is within an order of it", "[error_bound]") {
  for (const Arch arch : all_archs) {
    for (const ProblemShape& shape : {ProblemShape{6, 150, 1, 32}, ProblemShape{6, 150, 16, 64}, ProblemShape{6, 150, 128, 128}}) {
      for (const bool normal : {false, true}) {
        OwnedProblem owned = random_problem(shape, 41);
        if (normal) make_normal(owned, 42);
        owned.problem.fold = FoldType::bf16;
        const std::vector<std::byte> scores = simulate(owned.problem, tensor_core(arch));
        const CheckReport report = check(owned.problem, scores, arch);
        INFO(arch_name(arch) << ' ' << shape.num_heads << " heads: " << summary(report));
        CHECK(report.passed());
        CHECK(report.max_error_to_bound > 0.02);
        owned.problem.fold = FoldType::f32;
        if (arch == Arch::sm_100a) CHECK(check(owned.problem, scores, arch).mismatches > report.scores_checked / 4);
      }
    }
  }
}

TEST_CASE("two exchanged key tiles are beyond the bound of a bf16 fold", "[error_bound]") {
  OwnedProblem owned = random_problem({4, 130, 64, 128}, 31);
  make_normal(owned, 32);
  owned.problem.fold = FoldType::bf16;
  const CheckReport report =
      check(owned.problem, simulate(owned.problem, tensor_core(Arch::sm_90a), {.exchanged_keys = 64}), Arch::sm_90a);
  CHECK(report.mismatches > 4 * 128 / 2);
}

TEST_CASE("a weight that is infinite as a bf16 leaves no bound, and a subnormal one a wide one", "[error_bound]") {
  OwnedProblem owned = random_problem({1, 20, 4, 32}, 51);
  owned.problem.fold = FoldType::bf16;
  const auto bounds = [&] {
    std::vector<double> found;
    const auto keep = [&](const ReferenceRow& row) { found.assign(row.bounds.begin(), row.bounds.end()); };
    REQUIRE(for_each_reference_row(owned.problem, accumulation_model(Arch::sm_100a), keep, 1).ok());
    return found;
  };
  for (const double bound : bounds()) CHECK(std::isfinite(bound));
  owned.q_scale[1] = 3.4e38F;
  for (const double bound : bounds()) CHECK(std::isinf(bound));
  CHECK(score_bound(1, FoldType::bf16, 0, 0x1p-130, 1) > 0x1p-134);
}

TEST_CASE("Hopper's errors are beyond Blackwell's bound", "[error_bound]") {
  OwnedProblem owned = random_problem({4, 64, 4, 128}, 5);
  make_normal(owned, 6);
  CHECK_FALSE(check(owned.problem, simulate(owned.problem, hopper), Arch::sm_100a).passed());
}

TEST_CASE("one lost head of many is beyond the bound", "[error_bound]") {
  for (const Arch arch : all_archs) {
    for (const int heads : {4, 64, 128}) {
      OwnedProblem owned = random_problem({4, 64, heads, 128}, 21);
      make_normal(owned, 22);
      const CheckReport report =
          check(owned.problem, simulate(owned.problem, tensor_core(arch), {.lost_head = heads / 2}), arch);
      INFO(arch_name(arch) << ' ' << heads << " heads: " << summary(report));
      CHECK(report.mismatches > report.scores_checked / 10);
    }
  }
}

TEST_CASE("two exchanged key tiles are beyond the bound", "[error_bound]") {
  for (const Arch arch : all_archs) {
    OwnedProblem owned = random_problem({4, 130, 128, 128}, 31);
    make_normal(owned, 32);
    const CheckReport report =
        check(owned.problem, simulate(owned.problem, tensor_core(arch), {.exchanged_keys = 64}), arch);
    CHECK(report.mismatches > 4 * 128 * 9 / 10);
  }
}

TEST_CASE("a sum that may leave f32's range has no bound", "[error_bound]") {
  CHECK(std::isinf(score_bound(1, FoldType::f32, 0, 3e38, 2)));
  CHECK(std::isinf(score_bound(1, FoldType::f32, 0, 4e38, 1e-30)));
  CHECK(std::isfinite(score_bound(1, FoldType::f32, 0, 3e38, 1)));
}

}  // namespace mlaindex
