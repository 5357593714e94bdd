#include "tests/model/measured_shapes.h"

#include <algorithm>
#include <string_view>

#include <catch2/catch.hpp>

#include "generator/base/format.h"
#include "generator/plan.h"

namespace mlaindex::model {
namespace {

struct Recorded {
  std::string_view plan;
  int num_heads;
  LoopCosts loop;
};

// Counted by loop_costs() in the cubins of CUDA 13.0: issue slots, then clocks of ALU, FMA, LSU and uniform pipe.
const std::vector<Recorded>& recorded() {
  static const std::vector<Recorded> table{
      {"q_resident", 64, {128, {256, 256, 128, 0, 0}, {70, 24, 16, 24, 56}, {}}},
      {"q_resident", 32, {64, {128, 128, 64, 0, 0}, {62, 24, 20, 24, 48}, {}}},
      {"q_resident", 16, {64, {128, 128, 64, 0, 0}, {73, 34, 22, 32, 48}, {}}},
      {"q_resident", 8, {64, {128, 128, 64, 0, 0}, {117, 72, 46, 64, 48}, {}}},
      {"paged", 64, {64, {128, 128, 64, 0, 0}, {78, 34, 28, 24, 48}, {}}},
      {"paged_narrow", 64, {32, {64, 64, 32, 0, 0}, {62, 20, 15, 20, 48}, {}}},
      {"paged_narrow", 32, {32, {64, 64, 32, 0, 0}, {75, 36, 20, 24, 48}, {}}},
  };
  return table;
}

MeasuredShape prefill(int tokens, int keys, int heads, double microseconds) {
  return {Layout::contiguous, "q_resident", heads, {tokens, keys, 0}, microseconds, false};
}

MeasuredShape decode(int requests, int next_n, int context, int heads, double microseconds, bool outlier = false) {
  const char* plan = next_n * heads <= 64 ? "paged_narrow" : "paged";
  return {Layout::paged, plan, heads, {requests * next_n, context, requests}, microseconds, outlier};
}

Spec spec_of(const MeasuredShape& shape) {
  const bool paged = shape.layout == Layout::paged;
  return {.arch = Arch::sm_90a, .num_heads = shape.num_heads, .mask = paged ? Mask::context : Mask::ragged_causal,
          .layout = shape.layout, .page_size = paged ? 64 : 0};
}

}  // namespace

const std::vector<MeasuredShape>& measured_shapes() {
  static const std::vector<MeasuredShape> shapes{
      prefill(1024, 8192, 32, 53.5), prefill(1024, 8192, 64, 98.8), prefill(2048, 8192, 64, 182),
      prefill(2048, 65536, 64, 1729), prefill(2048, 65536, 32, 915), prefill(8192, 8192, 64, 445),
      prefill(8192, 65536, 64, 6603), prefill(8192, 65536, 32, 3531), prefill(4096, 131072, 64, 7098),
      prefill(2048, 8192, 16, 53.5), prefill(2048, 8192, 8, 34.2), prefill(32, 32768, 64, 16.2),
      prefill(64, 8192, 64, 10.0), prefill(128, 16384, 64, 28.7), prefill(256, 4096, 64, 16.2),
      prefill(256, 4096, 32, 10.7), prefill(512, 1024, 64, 9.5), prefill(512, 8192, 64, 52.2),
      prefill(1024, 1024, 64, 12.2), prefill(2048, 104448, 64, 2770), prefill(512, 262144, 64, 1791),
      decode(1, 1, 8192, 64, 3.42), decode(1, 1, 65536, 64, 5.00), decode(1, 1, 131072, 64, 6.00),
      decode(16, 1, 8192, 64, 6.48), decode(64, 1, 8192, 64, 22.5), decode(64, 2, 8192, 64, 26.0),
      decode(64, 1, 65536, 64, 138.6), decode(64, 2, 65536, 64, 167.6), decode(256, 1, 8192, 64, 74.5),
      decode(256, 2, 32768, 64, 344.8), decode(256, 1, 32768, 32, 277.4), decode(256, 1, 65536, 64, 547.6),
      decode(64, 3, 65536, 64, 333.1, true), decode(64, 4, 65536, 64, 284.6), decode(64, 6, 65536, 64, 427.3),
      decode(64, 8, 65536, 64, 535.9)};
  return shapes;
}

const LoopCosts& recorded_loop(const MeasuredShape& shape) {
  const auto found = std::ranges::find_if(recorded(), [&](const Recorded& one) {
    return one.plan == shape.plan && one.num_heads == shape.num_heads;
  });
  REQUIRE(found != recorded().end());
  return found->loop;
}

Prediction prediction_of(const MeasuredShape& shape) {
  const Spec spec = spec_of(shape);
  const Result<Plan> plan = make_plan(spec, shape.plan);
  REQUIRE(plan.ok());
  const Result<Prediction> prediction = predict(spec, *plan, recorded_loop(shape), shape.size, gpu_of_arch(Arch::sm_90a));
  REQUIRE(prediction.ok());
  return *prediction;
}

std::string shape_text(const MeasuredShape& shape) {
  const ProblemSize& size = shape.size;
  if (shape.layout == Layout::contiguous) return fmt::format("{} x {}, {}", size.num_tokens, size.num_keys, shape.num_heads);
  return fmt::format("{} x {}, {}{}, {}", size.num_requests, size.num_tokens / size.num_requests,
                     size.num_requests > 1 ? "~" : "", size.num_keys, shape.num_heads);
}

}  // namespace mlaindex::model
