// The generated kernels, executed as the PTX that NVRTC made of them, against the f64 reference.
#include <catch2/catch.hpp>

#include "runtime/config.h"
#include "runtime/emulator_device.h"
#include "runtime/kernel_store.h"
#include "tools/make_case.h"
#include "tools/score_case.h"

using namespace mlaindex;

namespace {

constexpr int head_counts[] = {1, 4, 8, 12, 16, 32, 64, 128};
constexpr int depths[] = {32, 64, 128};
constexpr Mask masks[] = {Mask::full, Mask::ranges, Mask::ragged, Mask::ragged_causal};

struct Form {
  ScoreType score_type;
  Fill fill;
};
constexpr Form forms[] = {{ScoreType::f32, Fill::none},
                          {ScoreType::bf16, Fill::negative_infinity},
                          {ScoreType::f32, Fill::negative_infinity},
                          {ScoreType::bf16, Fill::none}};

Config memory_only() {
  Config config = config_from_environment();
  config.cache_enabled = false;
  return config;
}

// Runs one small case on the emulator under one schedule; empty when all is well.
std::string trouble(KernelStore& store, Arch arch, const std::string& plan, const tools::CaseRequest& request, Form form,
                    std::uint64_t schedule) {
  auto tensors = tools::make_case(request);
  if (!tensors) return tensors.error().text();
  auto input = tools::to_case(std::move(*tensors), "case", form.score_type, form.fill);
  if (!input) return input.error().text();
  auto device = emulator_factory({.seed = schedule})(store, arch);
  if (!device) return device.error().text();
  auto scored = tools::score_case(**device, *input, {.plan = plan, .check = true});
  if (!scored) return scored.error().text();
  return scored->passed() ? "" : summary(*scored->against_reference);
}

}  // namespace

TEST_CASE("every head count and depth of every plan, masks and outputs in turn, is right under several schedules") {
  KernelStore store(memory_only(), Log());
  int runs = 0;
  for (Arch arch : all_archs) {
    for (const std::string& plan : plan_names(arch)) {
      int turn = 0;
      for (int heads : head_counts) {
        for (int depth : depths) {
          const Mask mask = masks[turn % 4];
          const Form form = forms[turn / 4 % 4];
          ++turn;
          for (std::uint64_t schedule : {0, 1, 2 + turn}) {
            const tools::CaseRequest request{.num_tokens = 11, .num_keys = 333, .num_requests = 3, .num_heads = heads,
                                             .depth = depth, .mask = mask, .seed = schedule + 1,
                                             .exact = schedule == 1};
            const std::string problem = trouble(store, arch, plan, request, form, schedule);
            ++runs;
            if (problem.empty()) continue;
            FAIL_CHECK(arch_name(arch) << ' ' << plan << " heads " << heads << " depth " << depth << ' ' << mask_name(mask)
                                       << ' ' << score_type_name(form.score_type) << ' ' << fill_name(form.fill)
                                       << " schedule " << schedule << ": " << problem);
          }
        }
      }
    }
  }
  CHECK(runs == 216);
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

// The whole product of specs, on 100 schedules: hours. `make test-full` runs it.
TEST_CASE("the whole product of specs under 100 schedules", "[.full]") {
  KernelStore store(memory_only(), Log());
  for (Arch arch : all_archs)
    for (const std::string& plan : plan_names(arch))
      for (int heads : head_counts)
        for (int depth : depths)
          for (Mask mask : masks)
            for (const Form form : forms)
              for (std::uint64_t schedule = 0; schedule < 100; ++schedule) {
                const tools::CaseRequest request{.num_tokens = 5, .num_keys = 300, .num_requests = 2, .num_heads = heads,
                                                 .depth = depth, .mask = mask, .seed = schedule,
                                                 .exact = schedule % 2 == 1};
                const std::string problem = trouble(store, arch, plan, request, form, schedule);
                if (!problem.empty()) FAIL_CHECK(plan << " heads " << heads << " depth " << depth << ": " << problem);
              }
}
