// Kernels of paged keys, executed, against the f64 reference.
#include <vector>

#include <catch2/catch.hpp>

#include "generator/base/format.h"
#include "tests/kernels/emulated_case.h"
#include "tests/parallel.h"
#include "tests/sample.h"

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

namespace {

struct Run {
  std::string label;
  PagedPlan plan;
  tools::CaseRequest request;
  Form form;
  EmulatorSettings settings;
};

void check_all(std::vector<Run> runs) {
  keep_sample(runs);
  KernelStore store(memory_only(), Log());
  std::vector<std::string> problems(runs.size());
  in_parallel(runs.size(), [&](std::size_t i) {
    problems[i] = trouble(store, runs[i].plan.arch, runs[i].plan.name, runs[i].request, runs[i].form, runs[i].settings);
  });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    INFO(arch_name(runs[i].plan.arch) << ' ' << runs[i].plan.name << ' ' << runs[i].label);
    CHECK(problems[i] == "");
  }
}

}  // namespace

TEST_CASE("paged keys: every head count and page size of every plan, masks and outputs in turn, is right") {
  std::vector<Run> runs;
  int turn = 0;
  for (const PagedPlan& plan : paged_plans()) {
    for (int heads : head_counts) {
      if (heads > 64 && plan.name == "paged_narrow") continue;
      for (int page_size : {16, 32, 64, 128, 256}) {
        tools::CaseRequest request = paged_case(heads, depths[turn % 3], page_size, paged_masks[turn / 3 % 4]);
        request.separate_scales = turn % 2 == 1;
        const Form form = forms[turn / 2 % 4];
        request.seed = static_cast<std::uint64_t>(++turn);
        runs.push_back({fmt::format("heads {} page {} {}", heads, page_size, mask_name(request.mask)), plan, request, form,
                        {.seed = request.seed, .threads = 1}});
      }
    }
  }
  CHECK(runs.size() == 155);
  check_all(std::move(runs));
}

TEST_CASE("paged keys: warpgroups that take turns do not lap each other's stages") {
  // One CTA walks through all requests, so that the turns change from block to block, the ring goes round
  // many times, and copies complete in any order.
  std::vector<Run> runs;
  for (const PagedPlan& plan : paged_plans()) {
    for (std::uint64_t schedule = 0; schedule < 12; ++schedule) {
      tools::CaseRequest request = paged_case(64, 32, 64, schedule % 2 == 0 ? Mask::context : Mask::ragged_causal);
      request.num_requests = 36;
      request.num_tokens = schedule % 2 == 0 ? 70 : 200;
      request.num_keys = 1500;
      request.next_n = 1;
      request.seed = schedule + 1;
      runs.push_back({fmt::format("schedule {}", schedule), plan, request, forms[0], {.seed = schedule, .num_sms = 1, .threads = 1}});
    }
  }
  check_all(std::move(runs));
}
