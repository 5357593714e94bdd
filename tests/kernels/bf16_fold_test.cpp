// Kernels with a bf16 fold, executed, against the f64 reference and the bound of such a fold.
#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include "generator/base/format.h"
#include "tests/kernels/emulated_case.h"
#include "tests/kernels/spec_product.h"
#include "tests/parallel.h"
#include "tests/sample.h"

using namespace mlaindex;

namespace {

tools::CaseRequest small_case(const Spec& spec, std::uint64_t seed) {
  return {.num_tokens = 11, .num_keys = 333, .num_requests = 3, .num_heads = spec.num_heads, .depth = spec.depth,
          .mask = spec.mask, .page_size = spec.page_size, .next_n = spec.layout == Layout::paged && !is_ragged(spec.mask) ? 3 : 1,
          .separate_scales = spec.layout == Layout::paged && seed % 2 == 1, .seed = seed};
}

Form form_of(const Spec& spec) { return {spec.score_type, spec.fill, spec.fold}; }

}  // namespace

TEST_CASE("a bf16 fold of every head count and depth of every plan, masks and outputs in turn, is right") {
  std::vector<SpecOfPlan> items = bf16_fold_specs();
  for (const SpecOfPlan& item : paged_bf16_fold_specs()) items.push_back(item);
  CHECK(items.size() == 96 + 31);
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
  std::vector<SpecOfPlan> items = bf16_fold_specs();
  std::erase_if(items, [](const SpecOfPlan& item) { return item.spec.depth != 64 || item.spec.mask == Mask::ranges; });
  KernelStore store(memory_only(), Log());
  std::vector<std::string> problems(items.size());
  in_parallel(items.size(), [&](std::size_t i) {
    const Spec& spec = items[i].spec;
    auto tensors = tools::make_case(small_case(spec, 7));
    if (tensors) {  // of tokens 3 and 5 and keys 20 and 30, which some token sees under every mask
      const auto heads = static_cast<std::size_t>(spec.num_heads), depth = static_cast<std::size_t>(spec.depth);
      tensors->tensors.at("q").data.as<std::uint8_t>()[(4 * heads - 1) * depth] = 0xff;
      tensors->tensors.at("q_scale").data.as<float>()[5 * heads] = NAN;
      tensors->tensors.at("k").data.as<std::uint8_t>()[20 * depth + 1] = 0x7f;
      tensors->tensors.at("k_scale").data.as<float>()[30] = NAN;
    }
    problems[i] = trouble(store, spec.arch, items[i].plan, std::move(tensors), form_of(spec), {.seed = 5, .threads = 1});
  });
  for (std::size_t i = 0; i < items.size(); ++i) {
    INFO(to_string(items[i].spec) << " plan=" << items[i].plan);
    CHECK(problems[i] == "");
  }
  CHECK(items.size() >= 8);
}
