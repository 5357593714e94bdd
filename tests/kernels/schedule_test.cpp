// Every spec of every plan under 100 schedules of the emulator: `make test-full`, many core hours.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/kernels/emulated_case.h"

using namespace mlaindex;

namespace {

struct Combination {
  Arch arch;
  std::string plan;
  int heads, depth;
  Mask mask;
  Form form;
};

std::vector<Combination> all_combinations(Arch arch) {
  std::vector<Combination> all;
  for (const std::string& plan : plan_names(arch))
    for (int heads : head_counts)
      for (int depth : depths)
        for (Mask mask : masks)
          for (const Form form : forms) all.push_back({arch, plan, heads, depth, mask, form});
  return all;
}

// Odd schedules on exact data, which must agree bit for bit.
std::string first_trouble(KernelStore& store, const Combination& c) {
  for (std::uint64_t schedule = 0; schedule < 100; ++schedule) {
    const tools::CaseRequest request{.num_tokens = 5, .num_keys = 300, .num_requests = 2, .num_heads = c.heads,
                                     .depth = c.depth, .mask = c.mask, .seed = schedule, .exact = schedule % 2 == 1};
    const std::string problem = trouble(store, c.arch, c.plan, request, c.form, schedule, 1);
    if (problem.empty()) continue;
    return fmt::format("{} {} heads {} depth {} {} {} {}, schedule {}: {}", arch_name(c.arch), c.plan, c.heads, c.depth,
                       mask_name(c.mask), score_type_name(c.form.score_type), fill_name(c.form.fill), schedule, problem);
  }
  return {};
}

// One thread a core, each on its own combinations.
void run_all(const std::vector<Combination>& all) {
  KernelStore store(memory_only(), Log());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::vector<std::string> problems;
  const auto work = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++) {
      std::string problem = first_trouble(store, all[i]);
      if (problem.empty()) continue;
      std::lock_guard lock(mutex);
      problems.push_back(std::move(problem));
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  }
  for (const std::string& problem : problems) FAIL_CHECK(problem);
  SUCCEED(fmt::format("{} specs, 100 schedules each", all.size()));
}

}  // namespace

TEST_CASE("every sm_100a spec of every plan, under 100 schedules", "[.full]") { run_all(all_combinations(Arch::sm_100a)); }

TEST_CASE("every sm_90a spec of every plan, under 100 schedules", "[.full]") { run_all(all_combinations(Arch::sm_90a)); }
