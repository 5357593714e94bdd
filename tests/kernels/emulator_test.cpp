// The generated kernels, executed as the PTX that NVRTC made of them, against the f64 reference.
#include <algorithm>

#include <catch2/catch.hpp>

#include "generator/base/format.h"
#include "tests/kernels/emulated_case.h"
#include "tests/parallel.h"
#include "tests/sample.h"

using namespace mlaindex;

namespace {

struct Run {
  Arch arch;
  std::string plan;
  tools::CaseRequest request;
  Form form;
  std::vector<std::uint64_t> schedules;
};

// Every head count and depth of every plan, masks and outputs in turn, under three schedules each; of k_resident, which
// folds as q_resident does, under one in turn.
std::vector<Run> all_runs() {
  std::vector<Run> runs;
  for (Arch arch : all_archs) {
    for (const std::string& plan : plan_names(arch)) {
      unsigned turn = 0;
      for (int heads : head_counts) {
        for (int depth : depths) {
          const tools::CaseRequest request{.num_tokens = 11, .num_keys = 333, .num_requests = 3, .num_heads = heads,
                                           .depth = depth, .mask = masks[turn % 4]};
          const Form form = forms[turn / 4 % 4];
          ++turn;
          std::vector<std::uint64_t> schedules{0, 1, 2 + turn};
          if (plan == "k_resident") schedules = {schedules[turn % 3]};
          runs.push_back({arch, plan, request, form, std::move(schedules)});
        }
      }
    }
  }
  return runs;
}

// Under each schedule, with data of its own; of schedule 1 exact. Empty when all is well.
std::string trouble_of(KernelStore& store, const Run& run) {
  for (std::uint64_t schedule : run.schedules) {
    tools::CaseRequest request = run.request;
    request.seed = schedule + 1;
    request.exact = schedule == 1;
    const std::string problem = trouble(store, run.arch, run.plan, request, run.form, schedule, 1);
    if (!problem.empty()) return fmt::format("schedule {}: {}", schedule, problem);
  }
  return "";
}

}  // namespace

TEST_CASE("every head count and depth of every plan, masks and outputs in turn, is right under several schedules") {
  KernelStore store(memory_only(), Log());
  std::vector<Run> runs = all_runs();
  CHECK(runs.size() == 5 * 24);
  keep_sample(runs);
  std::vector<std::string> problems(runs.size());
  in_parallel(runs.size(), [&](std::size_t i) { problems[i] = trouble_of(store, runs[i]); });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& [arch, plan, request, form, schedules] = runs[i];
    INFO(arch_name(arch) << ' ' << plan << " heads " << request.num_heads << " depth " << request.depth << ' '
                         << mask_name(request.mask) << ' ' << score_type_name(form.score_type) << ' ' << fill_name(form.fill));
    CHECK(problems[i] == "");
  }
}

TEST_CASE("the smallest and the ragged edges are right on the emulator") {
  KernelStore store(memory_only(), Log());
  struct Size {
    std::int64_t tokens, keys;
  };
  for (Arch arch : all_archs) {
    for (const std::string& plan : plan_names(arch)) {
      for (const Size size : {Size{1, 1}, Size{1, 129}, Size{3, 64}, Size{5, 128}, Size{2, 1025}}) {
        const tools::CaseRequest request{.num_tokens = size.tokens, .num_keys = size.keys, .num_requests = 1,
                                         .num_heads = 64, .depth = 128, .mask = Mask::full, .exact = true};
        const std::string problem = trouble(store, arch, plan, request, forms[2], 3);
        INFO(arch_name(arch) << ' ' << plan << ' ' << size.tokens << " x " << size.keys);
        CHECK(problem == "");
      }
    }
  }
}

TEST_CASE("head counts that fill no box of Q are right on the emulator") {
  KernelStore store(memory_only(), Log());
  for (Arch arch : all_archs) {
    for (int heads : {3, 33, 65, 127}) {
      const tools::CaseRequest request{.num_tokens = 6, .num_keys = 200, .num_requests = 2, .num_heads = heads, .depth = 128,
                                       .mask = Mask::ragged_causal, .exact = true};
      const std::string problem = trouble(store, arch, "", request, forms[2], 2);
      INFO(arch_name(arch) << " heads " << heads);
      CHECK(problem == "");
    }
  }
}

TEST_CASE("a batch of more tokens than the scheduler counts one by one is right on the emulator") {
  KernelStore store(memory_only(), Log());
  // 256 units of 32 tokens and some: units of 64. Few keys, so that most CTAs cross many token blocks.
  const tools::CaseRequest request{.num_tokens = 8300, .num_keys = 8300, .num_requests = 400, .num_heads = 4, .depth = 32,
                                   .mask = Mask::ragged_causal, .exact = true};
  CHECK(trouble(store, Arch::sm_90a, "q_resident", request, forms[0], 2) == "");
}
