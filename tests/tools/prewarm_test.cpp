// After a prewarm of a model nothing compiles, whatever a server is sent.
#include <map>

#include <catch2/catch.hpp>

#include "runtime/kernel_store.h"
#include "runtime/score_problem.h"
#include "tests/tools/shell.h"
#include "tools/presets.h"
#include "tools/random.h"

using namespace mlaindex;
using namespace mlaindex::tools;

namespace {

constexpr int prewarmed_page_size = 64;  // what prewarm takes when not told

// Sizes only: the choice of a kernel looks at no data.
struct Asked {
  std::vector<std::int32_t> query_offsets;
  ScoreProblem problem;
};

// From 1 to 2^bits, every order of magnitude as likely as another.
std::int64_t magnitude(Random& random, int bits) {
  const std::int64_t top = std::int64_t{1} << random.between(0, bits);
  return random.between((top + 1) / 2, top);
}

template <class Value, std::size_t size>
Value one_of(Random& random, const Value (&values)[size]) {
  return values[random.between(0, size - 1)];
}

Asked contiguous(Random& random) {
  Asked asked;
  ScoreProblem& problem = asked.problem;
  problem.mask = one_of(random, {Mask::full, Mask::ranges, Mask::ragged, Mask::ragged_causal});
  problem.num_tokens = magnitude(random, 14);
  problem.num_keys = magnitude(random, 20);
  return asked;
}

Asked paged(Random& random) {
  Asked asked;
  ScoreProblem& problem = asked.problem;
  problem.layout = Layout::paged;
  problem.mask = one_of(random, {Mask::context, Mask::context_rows, Mask::ragged, Mask::ragged_causal});
  problem.paged.page_size = prewarmed_page_size;
  problem.paged.num_requests = magnitude(random, 9);
  problem.paged.pages_per_request = magnitude(random, 14);
  problem.paged.next_n = static_cast<int>(random.between(1, 8));
  problem.num_keys = problem.paged.max_context();
  problem.num_tokens =
      is_ragged(problem.mask) ? magnitude(random, 13) : problem.paged.num_requests * problem.paged.next_n;
  return asked;
}

Asked random_problem(Random& random, const Preset& preset) {
  Asked asked = random.between(0, 1) == 0 ? contiguous(random) : paged(random);
  ScoreProblem& problem = asked.problem;
  problem.num_heads = preset.num_heads;
  problem.depth = preset.depth;
  problem.score_type = one_of(random, {ScoreType::f32, ScoreType::bf16});
  problem.fill = one_of(random, {Fill::none, Fill::negative_infinity});
  const std::int64_t requests = problem.layout == Layout::paged ? problem.paged.num_requests : magnitude(random, 9);
  if (is_ragged(problem.mask)) asked.query_offsets.resize(static_cast<std::size_t>(requests) + 1);
  problem.query_offsets = asked.query_offsets;
  return asked;
}

// As a device asks for the kernel of a problem.
Result<KernelLookup> kernel_for(KernelStore& store, const ScoreProblem& problem) {
  return store.get(spec_for(problem, Arch::sm_90a), {}, size_of(problem));
}

KernelStore store_over(const std::string& cache_dir) {
  Config config = config_from_environment();
  config.use_cache_dir(cache_dir);
  config.override_dir.clear();
  return KernelStore(config, Log(LogLevel::off));
}

}  // namespace

TEST_CASE("after a prewarm of a preset, 500 random problems compile nothing") {
  if (!has_nvrtc()) return;
  const Shell run;
  const Finished prewarm = run({"prewarm", "--preset", "glm-5", "--arch", "sm_90a", "--json"});
  INFO(prewarm.err);
  REQUIRE(prewarm.exit_code == 0);
  const std::size_t prewarmed = parsed(prewarm)["kernels"].size();

  constexpr std::uint64_t seed = 20261130;
  CAPTURE(seed);
  Random random(seed);
  const Preset preset = *find_preset("glm-5");
  KernelStore store = store_over(run.file("cache"));
  std::map<std::string, int> times_asked;  // by the kernel's key
  for (int i = 0; i < 500; ++i) {
    const Asked asked = random_problem(random, preset);
    const Result<KernelLookup> lookup = kernel_for(store, asked.problem);
    if (!lookup) FAIL(lookup.error().text());
    INFO(to_string(lookup->kernel->spec) << ", plan " << lookup->kernel->plan.name);
    const bool first = times_asked[lookup->kernel->key]++ == 0;
    CHECK(kernel_origin_name(lookup->origin) == kernel_origin_name(first ? KernelOrigin::disk : KernelOrigin::memory));
  }
  const KernelCounters counters = store.counters();
  CHECK(counters.compiled == 0);
  CHECK(counters.failed == 0);
  CHECK(counters.hit_disk == times_asked.size());
  CHECK(counters.hit_memory == 500 - times_asked.size());
  CHECK(times_asked.size() > prewarmed * 2 / 3);  // the problems were not all alike; one plan's sizes are rare among them

  // What was not prewarmed does compile, and the counter says so.
  Asked other = random_problem(random, preset);
  other.problem.depth = 32;
  REQUIRE(kernel_for(store, other.problem));
  CHECK(store.counters().compiled == 1);
}
