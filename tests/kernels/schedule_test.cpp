// Every spec of every plan under 100 schedules of the emulator: part of `make test-full`.
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "generator/base/format.h"
#include "tests/kernels/emulated_case.h"
#include "tests/kernels/spec_product.h"
#include "tests/parallel.h"

using namespace mlaindex;

namespace {

constexpr std::uint64_t num_schedules = 100;

// Odd schedules on exact data, which must agree bit for bit; every fourth on a machine of one SM, where the CTA of a
// persistent kernel has all the work.
std::string first_trouble(KernelStore& store, const SpecOfPlan& item) {
  const Spec& spec = item.spec;
  for (std::uint64_t schedule = 0; schedule < num_schedules; ++schedule) {
    const tools::CaseRequest request{.num_tokens = 5, .num_keys = 300, .num_requests = 2, .num_heads = spec.num_heads,
                                     .depth = spec.depth, .mask = spec.mask, .seed = schedule,
                                     .exact = schedule % 2 == 1};
    const std::string problem = trouble(store, spec.arch, item.plan, tools::make_case(request), {spec.score_type, spec.fill},
                                        {.seed = schedule, .num_sms = schedule % 4 == 3 ? 1 : 0, .threads = 1});
    if (!problem.empty()) return fmt::format("{}, plan {}, schedule {}: {}", to_string(spec), item.plan, schedule, problem);
  }
  return {};
}

// A thread a core, each on its own specs.
std::vector<std::string> all_troubles(Arch arch, std::size_t expected_specs) {
  std::vector<SpecOfPlan> items;
  for (SpecOfPlan& item : spec_product())
    if (item.spec.arch == arch) items.push_back(std::move(item));
  CHECK(items.size() == expected_specs);
  KernelStore store(memory_only(), Log());
  const Stopwatch watch;
  std::mutex mutex;
  std::vector<std::string> troubles;
  in_parallel(items.size(), [&](std::size_t i) {
    std::string trouble = first_trouble(store, items[i]);
    if (trouble.empty()) return;
    std::lock_guard lock(mutex);
    troubles.push_back(std::move(trouble));
  });
  fmt::print("schedules, {}: {} of {} specs right under {} schedules each{}\n", arch_name(arch),
             items.size() - troubles.size(), items.size(), num_schedules, watch.text());
  std::fflush(stdout);
  return troubles;
}

}  // namespace

TEST_CASE("every sm_100a spec of every plan, under 100 schedules", "[.full]") {
  CHECK(all_troubles(Arch::sm_100a, 3 * 384) == std::vector<std::string>{});
}

TEST_CASE("every sm_90a spec of every plan, under 100 schedules", "[.full]") {
  CHECK(all_troubles(Arch::sm_90a, 2 * 384) == std::vector<std::string>{});
}
