// Whichever plan a route chooses, the bits of a score are the same.
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "generator/base/format.h"
#include "tests/kernels/emulated_case.h"
#include "tests/parallel.h"
#include "tests/sample.h"

using namespace mlaindex;

namespace {

constexpr Mask paged_masks[] = {Mask::context, Mask::context_rows, Mask::ragged, Mask::ragged_causal};

struct Compared {
  Spec spec;
  tools::CaseRequest request;
};

// That take the spec, for any number of requests.
std::vector<std::string_view> plans_of(const Spec& spec) {
  std::vector<std::string_view> plans = routable_plans(spec.arch, spec.layout);
  std::erase_if(plans, [&](std::string_view plan) { return !make_plan(spec, plan).ok(); });
  return plans;
}

// Normal data, which every other order of a sum would round elsewhere. Of contiguous keys depths in turn.
std::vector<Compared> all_compared() {
  std::vector<Compared> all;
  int turn = 0;
  for (Arch arch : all_archs) {
    for (Layout layout : {Layout::contiguous, Layout::paged}) {
      for (FoldType fold : {FoldType::f32, FoldType::bf16}) {
        int depth_in_turn = 0;
        for (int heads : head_counts) {
          const int chosen_depth = depths[depth_in_turn++ % 3];
          for (int depth : depths) {
            if (layout == Layout::contiguous && depth != chosen_depth) continue;
            const bool paged = layout == Layout::paged;
            const Mask mask = paged ? paged_masks[turn % 4] : masks[turn % 4];
            const Spec spec{.arch = arch, .num_heads = heads, .depth = depth, .mask = mask,
                            .score_type = turn / 4 % 2 == 0 ? ScoreType::f32 : ScoreType::bf16, .layout = layout,
                            .page_size = paged ? 16 << turn % 5 : 0, .fold = fold};
            if (plans_of(spec).size() < 2) continue;
            tools::CaseRequest request{.num_tokens = 13, .num_keys = 300, .num_requests = 3, .num_heads = heads,
                                       .depth = depth, .mask = mask, .page_size = spec.page_size,
                                       .seed = static_cast<std::uint64_t>(++turn)};
            if (paged && !is_ragged(mask)) request.next_n = 1 + turn % 6;
            all.push_back({spec, request});
          }
        }
      }
    }
  }
  return all;
}

Result<tools::AlignedBytes> scores_of(KernelStore& store, const Compared& compared, std::string_view plan) {
  const Spec& spec = compared.spec;
  auto tensors = tools::make_case(compared.request);
  if (!tensors) return tensors.error();
  auto input = tools::to_case(*std::move(tensors), "case", spec.score_type, spec.fill, spec.fold);
  if (!input) return input.error();
  auto device = emulator_factory({.seed = compared.request.seed, .threads = 1})(store, spec.arch);
  if (!device) return device.error();
  auto scored = tools::score_case(**device, *input, {.plan = std::string(plan), .check = true});
  if (!scored) return scored.error();
  if (!scored->passed()) return Error{ErrorCode::internal, summary(*scored->against_reference), ""};
  return std::move(scored->scores);
}

std::string trouble_with(KernelStore& store, const Compared& compared) {
  const std::vector<std::string_view> plans = plans_of(compared.spec);
  const Result<tools::AlignedBytes> first = scores_of(store, compared, plans[0]);
  if (!first) return fmt::format("{}: {}", plans[0], first.error().text());
  for (std::size_t i = 1; i < plans.size(); ++i) {
    const Result<tools::AlignedBytes> other = scores_of(store, compared, plans[i]);
    if (!other) return fmt::format("{}: {}", plans[i], other.error().text());
    if (other->size() != first->size() || std::memcmp(other->data(), first->data(), first->size()) != 0)
      return fmt::format("{} and {} differ", plans[0], plans[i]);
  }
  return "";
}

}  // namespace

TEST_CASE("all plans that a route may choose for a spec give the same bits") {
  std::vector<Compared> all = all_compared();
  CHECK(all.size() >= 32 + 24);  // contiguous keys; paged keys of sm_90a
  keep_sample(all);
  KernelStore store(memory_only(), Log());
  std::vector<std::string> problems(all.size());
  in_parallel(all.size(), [&](std::size_t i) { problems[i] = trouble_with(store, all[i]); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO(to_string(all[i].spec));
    CHECK(problems[i] == "");
  }
}
