// Kernels with a bf16 fold, executed, against the f64 reference and the bound of such a fold.
#include <cmath>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/kernels/emulated_case.h"
#include "tests/kernels/spec_product.h"
#include "tests/parallel.h"
#include "tests/sample.h"

using namespace mlaindex;

namespace {

tools::CaseRequest small_case(const Spec& spec, std::uint64_t seed) {
  return {.num_tokens = 11, .num_keys = 333, .num_requests = 3, .num_heads = spec.num_heads, .depth = spec.depth,
          .mask = spec.mask, .page_size = spec.page_size, .seed = seed};
}

Form form_of(const Spec& spec) { return {spec.score_type, spec.fill, spec.fold}; }

}  // namespace

TEST_CASE("a bf16 fold of every head count and depth of every plan, masks and outputs in turn, is right") {
  std::vector<SpecOfPlan> items = bf16_fold_specs();
  CHECK(items.size() == 48);
  keep_sample(items);
  KernelStore store(memory_only(), Log());
  std::vector<std::string> problems(items.size());
  in_parallel(items.size(), [&](std::size_t i) {
    const auto& [spec, plan] = items[i];
    for (const bool exact : {true, false}) {  // data that no sum rounds must give the reference's very bits
      tools::CaseRequest request = small_case(spec, i + 1);
      request.exact_bf16 = exact;
      const std::string problem =
          trouble(store, spec.arch, plan, request, form_of(spec), {.seed = 2 * i + (exact ? 1 : 0), .threads = 1});
      if (!problem.empty()) problems[i] += (exact ? "exact: " : "normal: ") + problem;
    }
  });
  for (std::size_t i = 0; i < items.size(); ++i) {
    INFO(to_string(items[i].spec) << " plan=" << items[i].plan);
    CHECK(problems[i] == "");
  }
}

TEST_CASE("a bf16 fold keeps NaN of q, k and scales, and spreads none") {
  KernelStore store(memory_only(), Log());
  for (const SpecOfPlan& item : bf16_fold_specs()) {
    const Spec& spec = item.spec;
    if (spec.depth != 64 || spec.mask == Mask::ranges) continue;
    for (const char* tensor : {"q", "k", "q_scale", "k_scale"}) {
      auto tensors = tools::make_case(small_case(spec, 7));
      REQUIRE(tensors);
      tools::AlignedBytes& data = tensors->tensors.at(tensor).data;
      if (std::string_view(tensor).ends_with("scale")) {
        data.as<float>()[data.as<float>().size() / 2] = NAN;
      } else {
        data.as<std::uint8_t>()[data.size() / 2] = 0xff;
      }
      INFO(to_string(spec) << " plan=" << item.plan << ", NaN in " << tensor);
      CHECK(trouble(store, spec.arch, item.plan, std::move(tensors), form_of(spec), EmulatorSettings{.seed = 5}) == "");
    }
  }
}
