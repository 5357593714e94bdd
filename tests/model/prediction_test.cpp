#include <catch2/catch.hpp>

#include "generator/model/prediction.h"
#include "tests/model/measured_shapes.h"
#include "tests/model/recorded_listing.h"

using namespace mlaindex;
using namespace mlaindex::model;

namespace {

const Spec hopper{.arch = Arch::sm_90a, .num_heads = 64};
const Spec blackwell{.arch = Arch::sm_100a, .num_heads = 64};

LoopCosts loop_of(Arch arch) {
  const Result<LoopCosts> costs = loop_costs(recorded_listing(arch == Arch::sm_90a ? "sm_90a_h64.sass" : "sm_100a_h64.sass"), arch);
  REQUIRE(costs.ok());
  return *costs;
}

Prediction predicted(const Spec& spec, const LoopCosts& loop, const ProblemSize& size) {
  const Result<Plan> plan = make_plan(spec, plan_names(spec.arch, spec.layout).front());
  REQUIRE(plan.ok());
  const Result<Prediction> prediction = predict(spec, *plan, loop, size, gpu_of_arch(spec.arch));
  REQUIRE(prediction.ok());
  return *prediction;
}

}  // namespace

TEST_CASE("more tokens and more keys never take less time") {
  for (const Spec& spec : {hopper, blackwell}) {
    const LoopCosts loop = loop_of(spec.arch);
    double before = 0;
    for (int keys = 64; keys <= 1 << 18; keys *= 2) {
      const double time = predicted(spec, loop, {512, keys, 0}).microseconds;
      CHECK(time >= before);
      before = time;
    }
    before = 0;
    for (int tokens = 1; tokens <= 1 << 14; tokens *= 2) {
      const double time = predicted(spec, loop, {tokens, 32768, 0}).microseconds;
      CHECK(time >= before);
      before = time;
    }
  }
}

TEST_CASE("terms are sorted, none is longer than the whole, and the rate is that of the time") {
  const Prediction prediction = predicted(hopper, loop_of(Arch::sm_90a), {2048, 65536, 0});
  REQUIRE(prediction.terms.size() == 11);
  for (std::size_t i = 0; i + 1 < prediction.terms.size(); ++i)
    CHECK(prediction.terms[i].microseconds >= prediction.terms[i + 1].microseconds);
  CHECK(prediction.terms[0].microseconds <= prediction.microseconds);
  CHECK(prediction.limiter() == prediction.terms[0].limiter);
  const double pairs = 2048.0 * 65536 - 2047.0 * 2048 / 2;
  CHECK(prediction.shares.pairs == static_cast<std::int64_t>(pairs));
  CHECK(prediction.teraflops == Approx(2 * pairs * 64 * 128 / prediction.microseconds / 1e6));
  CHECK(prediction.tile.tensor == 1024);
  CHECK(prediction.gigahertz == Approx(1.5).epsilon(0.02));  // the tensor core is busy: the GPU's power is limited
}

TEST_CASE("the limiter follows the problem and the loop") {
  const LoopCosts loop = loop_of(Arch::sm_90a);
  CHECK(predicted(hopper, loop, {2048, 65536, 0}).limiter() == Limiter::tensor_pipe);
  CHECK(predicted(hopper, loop, {8, 64, 0}).limiter() == Limiter::start_up);

  LoopCosts longer = loop;
  longer.other.issue += 200;
  CHECK(predicted(hopper, longer, {2048, 65536, 0}).limiter() == Limiter::issue_slots);
  longer.other.alu += 2000;
  CHECK(predicted(hopper, longer, {2048, 65536, 0}).limiter() == Limiter::alu_pipe);
  CHECK(predicted(hopper, longer, {2048, 65536, 0}).microseconds > predicted(hopper, loop, {2048, 65536, 0}).microseconds);

  // A decode step reads more than it computes; five tokens a request turn it round.
  const Spec paged{.arch = Arch::sm_90a, .num_heads = 64, .mask = Mask::context, .layout = Layout::paged, .page_size = 64};
  CHECK(predicted(paged, {64, {128, 128, 64, 0, 0}, {78, 34, 28, 24, 48}, {}}, {256, 65536, 256}).limiter() == Limiter::dram);
  CHECK(predicted(paged, {64, {128, 128, 64, 0, 0}, {78, 34, 28, 24, 48}, {}}, {256 * 5, 65536, 256}).limiter() == Limiter::issue_slots);
}

TEST_CASE("the f32 fold of sm_100a stays within the tensor core's time, all pairs by x + |x| would not") {
  LoopCosts loop = loop_of(Arch::sm_100a);
  CHECK(predicted(blackwell, loop, {2048, 65536, 0}).limiter() == Limiter::tensor_pipe);
  loop.fold.fma += 2 * 8;  // eight pairs take relu by maxima
  CHECK(predicted(blackwell, loop, {2048, 65536, 0}).limiter() == Limiter::fma_pipe);
}

TEST_CASE("keys that fit L2 are not read from DRAM") {
  const auto dram = [](const ProblemSize& size) {
    const Spec paged{.arch = Arch::sm_90a, .num_heads = 64, .mask = Mask::context, .layout = Layout::paged, .page_size = 64};
    for (const Term& term : predicted(paged, {64, {128, 128, 64, 0, 0}, {78, 34, 28, 24, 48}, {}}, size).terms)
      if (term.limiter == Limiter::dram) return term.microseconds;
    return -1.0;
  };
  CHECK(dram({1, 65536, 1}) == 0);
  CHECK(dram({64, 65536, 64}) > 100);
}

TEST_CASE("kept keys spare a launch the counting, and are read once; every CTA reads queries") {
  for (Spec spec : {hopper, blackwell}) {
    spec.mask = Mask::full;
    const LoopCosts loop = loop_of(spec.arch);
    const Gpu& gpu = gpu_of_arch(spec.arch);
    const auto of_plan = [&](const char* name, const ProblemSize& size) { return *predict(spec, *make_plan(spec, name), loop, size, gpu); };
    const auto term = [](const Prediction& prediction, Limiter limiter) {
      for (const Term& each : prediction.terms)
        if (each.limiter == limiter) return each.microseconds;
      return -1.0;
    };
    const ProblemSize small{4, 64, 0};
    const double counting_us = (gpu.start_clocks - gpu.start_clocks_resident) / gpu.gigahertz / 1e3;
    CHECK(of_plan("k_resident", small).microseconds < of_plan("q_resident", small).microseconds - 0.9 * counting_us);
    // Eight times the tokens: as many keys by as many CTAs, eight times the queries.
    const double few = term(of_plan("k_resident", {4096, 512, 0}), Limiter::l2);
    const double many = term(of_plan("k_resident", {8 * 4096, 512, 0}), Limiter::l2);
    CHECK(many > 5 * few);
    CHECK(many < 8 * few);
  }
}

TEST_CASE("what nobody has timed says so") {
  CHECK(gpu_of_arch(Arch::sm_90a).calibrated);
  CHECK_FALSE(gpu_of_arch(Arch::sm_100a).calibrated);
  CHECK(gpu_of_name("h200")->name == "H200");
  CHECK(gpu_of_name("b200")->arch == Arch::sm_100a);
  const Result<Gpu> unknown = gpu_of_name("a100");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().code == ErrorCode::invalid_argument);
  CHECK_THAT(unknown.error().hint, Catch::Contains("h200") && Catch::Contains("b200"));
}

TEST_CASE("a prediction needs a loop and the GPU of its arch") {
  const Plan plan = *make_plan(hopper, "q_resident");
  const auto code = [&](const LoopCosts& loop, const Gpu& gpu) { return predict(hopper, plan, loop, {8, 64, 0}, gpu).error().code; };
  CHECK(code({}, gpu_of_arch(Arch::sm_90a)) == ErrorCode::invalid_argument);
  CHECK(code(loop_of(Arch::sm_90a), gpu_of_arch(Arch::sm_100a)) == ErrorCode::invalid_argument);
  CHECK_FALSE(predict(hopper, plan, loop_of(Arch::sm_90a), {0, 64, 0}, gpu_of_arch(Arch::sm_90a)).ok());
}

TEST_CASE("every limiter has a name of its own") {
  std::vector<std::string_view> names;
  for (const Term& term : predicted(hopper, loop_of(Arch::sm_90a), {2048, 65536, 0}).terms) names.push_back(limiter_name(term.limiter));
  std::ranges::sort(names);
  CHECK(std::ranges::adjacent_find(names) == names.end());
  CHECK_FALSE(names.front().empty());
}
