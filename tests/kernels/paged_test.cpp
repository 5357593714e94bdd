// Kernels of paged keys, executed, against the f64 reference.
#include <vector>

#include <catch2/catch.hpp>

#include "tests/kernels/emulated_case.h"

using namespace mlaindex;

namespace {

constexpr Mask paged_masks[] = {Mask::context, Mask::context_rows, Mask::ragged, Mask::ragged_causal};

tools::CaseRequest paged_case(int heads, int depth, int page_size, Mask mask) {
  tools::CaseRequest request{.num_tokens = 19, .num_keys = 333, .num_requests = 3, .num_heads = heads, .depth = depth,
                             .mask = mask, .page_size = page_size, .exact = true};
  if (!is_ragged(mask)) request.next_n = 1 + (heads + page_size / 16) % 8;
  return request;
}

struct PagedPlan {
  Arch arch;
  std::string name;
};

std::vector<PagedPlan> paged_plans() {
  std::vector<PagedPlan> plans;
  for (Arch arch : all_archs)
    for (const std::string& name : plan_names(arch, Layout::paged)) plans.push_back({arch, name});
  return plans;
}

}  // namespace

TEST_CASE("paged keys: every head count and page size of every plan, masks and outputs in turn, is right") {
  KernelStore store(memory_only(), Log());
  int runs = 0;
  int turn = 0;
  for (const auto& [arch, plan] : paged_plans()) {
    for (int heads : head_counts) {
      if (heads > 64 && plan == "paged_narrow") continue;
      for (int page_size : {16, 32, 64, 128, 256}) {
        tools::CaseRequest request = paged_case(heads, depths[turn % 3], page_size, paged_masks[turn / 3 % 4]);
        request.separate_scales = turn % 2 == 1;
        request.seed = static_cast<std::uint64_t>(turn + 1);
        const Form form = forms[turn / 2 % 4];
        ++turn;
        ++runs;
        const std::string problem = trouble(store, arch, plan, request, form, {.seed = static_cast<std::uint64_t>(turn)});
        INFO(arch_name(arch) << ' ' << plan << " heads " << heads << " page " << page_size << ' ' << mask_name(request.mask));
        CHECK(problem == "");
      }
    }
  }
  CHECK(runs == 115);
}

TEST_CASE("paged keys: warpgroups that take turns do not lap each other's stages") {
  // One CTA walks through all requests, so that the turns change from block to block, the ring goes round
  // many times, and copies complete in any order.
  KernelStore store(memory_only(), Log());
  for (const auto& [arch, plan] : paged_plans()) {
    for (std::uint64_t schedule = 0; schedule < 12; ++schedule) {
      tools::CaseRequest request = paged_case(64, 32, 64, schedule % 2 == 0 ? Mask::context : Mask::ragged_causal);
      request.num_requests = 36;
      request.num_tokens = schedule % 2 == 0 ? 70 : 200;
      request.num_keys = 1500;
      request.next_n = 1;
      request.seed = schedule + 1;
      INFO(arch_name(arch) << ' ' << plan << " schedule " << schedule);
      CHECK(trouble(store, arch, plan, request, forms[0], {.seed = schedule, .num_sms = 1}) == "");
    }
  }
}
