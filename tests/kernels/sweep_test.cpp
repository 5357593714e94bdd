#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/kernels/compiled.h"

using namespace mlaindex;

TEST_CASE("every spec of every plan compiles without a warning and passes the gate: no spills", "[sweep]") {
  struct Item {
    Spec spec;
    std::string plan;
  };
  std::vector<Item> items;
  for (Arch arch : all_archs)
    for (const std::string& plan : plan_names(arch))
      for (int heads : {1, 4, 8, 12, 16, 32, 64, 128})
        for (int depth : {32, 64, 128})
          for (Mask mask : {Mask::full, Mask::ranges, Mask::ragged, Mask::ragged_causal})
            for (ScoreType type : {ScoreType::f32, ScoreType::bf16})
              for (Fill fill : {Fill::none, Fill::negative_infinity})
                items.push_back({{arch, heads, depth, mask, type, fill}, plan});

  const std::unique_ptr<Compiler> compiler = make_nvrtc_compiler(config_from_environment());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::vector<std::string> failures;
  const auto work = [&] {
    for (std::size_t i = next++; i < items.size(); i = next++) {
      const auto& [spec, plan] = items[i];
      const Result<ptx::Artifact> kernel = compiled(*compiler, spec, make_plan(spec, plan).value());
      const std::lock_guard lock(mutex);
      if (!kernel) failures.push_back(to_string(spec) + " plan=" + plan + ": " + kernel.error().text());
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();

  for (const std::string& failure : failures) UNSCOPED_INFO(failure);
  CHECK(failures.empty());
  CHECK(items.size() == 1152);
}
