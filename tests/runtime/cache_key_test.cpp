#include "runtime/cache_key.h"

#include <catch2/catch.hpp>
#include <functional>
#include <set>

using namespace mlaindex;

namespace {

Plan small_plan() {
  Plan plan;
  plan.name = std::string("p");  // g++ 12 warns wrongly of literals that are assigned
  plan.family = std::string("f");
  plan.template_path = std::string("t.cu");
  plan.why = std::string("because");
  plan.num_threads = 256;
  plan.roles = {{"producer", 0, 4, 40}, {"fold", 4, 4, 232}};
  plan.shared = {{"q", 0, 1024, "the queries"}};
  plan.tensor_memory = {{"scores", 0, 128}};
  return plan;
}

}  // namespace

TEST_CASE("cache key: the text of a plan is canonical") {
  CHECK(plan_text(small_plan()) ==
        "name=\"p\" family=\"f\" template_path=\"t.cu\" why=\"because\" column_order=\"head_major\" padded_heads=0 "
        "tokens_per_block=0 tokens_per_box=0 column_groups=0 tile_keys=0 mma_m=0 mma_n=0 mma_k=0 key_stages=0 "
        "block_stages=2 accumulator_stages=0 q_barriers=1 k_scale_by_tma=0 persistent=0 num_threads=256 ctas_per_sm=0 entry_registers=0 "
        "roles=[{name=\"producer\" first_warp=0 num_warps=4 registers=40}{name=\"fold\" first_warp=4 num_warps=4 "
        "registers=232}] shared=[{name=\"q\" offset=0 bytes=1024 contents=\"the queries\"}] "
        "tensor_memory=[{name=\"scores\" first_column=0 num_columns=128}] tensor_memory_columns=0");
}

TEST_CASE("cache key: every field of a plan changes its text") {
  static const std::string other = "other";
  const std::function<void(Plan&)> changes[] = {
      [](Plan& p) { p.name = other; },
      [](Plan& p) { p.family = other; },
      [](Plan& p) { p.template_path = other; },
      [](Plan& p) { p.why = other; },
      [](Plan& p) { p.column_order = ColumnOrder::token_major; },
      [](Plan& p) { p.padded_heads = 1; },
      [](Plan& p) { p.tokens_per_block = 1; },
      [](Plan& p) { p.tokens_per_box = 1; },
      [](Plan& p) { p.column_groups = 1; },
      [](Plan& p) { p.tile_keys = 1; },
      [](Plan& p) { p.mma_m = 1; },
      [](Plan& p) { p.mma_n = 1; },
      [](Plan& p) { p.mma_k = 1; },
      [](Plan& p) { p.key_stages = 1; },
      [](Plan& p) { p.block_stages = 1; },
      [](Plan& p) { p.accumulator_stages = 1; },
      [](Plan& p) { p.q_barriers = 2; },
      [](Plan& p) { p.k_scale_by_tma = true; },
      [](Plan& p) { p.persistent = true; },
      [](Plan& p) { p.num_threads = 1; },
      [](Plan& p) { p.ctas_per_sm = 1; },
      [](Plan& p) { p.entry_registers = 1; },
      [](Plan& p) { p.roles[0].name = other; },
      [](Plan& p) { p.roles[0].first_warp = 9; },
      [](Plan& p) { p.roles[0].num_warps = 9; },
      [](Plan& p) { p.roles[0].registers = 9; },
      [](Plan& p) { p.roles.pop_back(); },
      [](Plan& p) { p.shared[0].name = other; },
      [](Plan& p) { p.shared[0].offset = 9; },
      [](Plan& p) { p.shared[0].bytes = 9; },
      [](Plan& p) { p.shared[0].contents = other; },
      [](Plan& p) { p.shared.clear(); },
      [](Plan& p) { p.tensor_memory[0].name = other; },
      [](Plan& p) { p.tensor_memory[0].first_column = 9; },
      [](Plan& p) { p.tensor_memory[0].num_columns = 9; },
      [](Plan& p) { p.tensor_memory.clear(); },
      [](Plan& p) { p.tensor_memory_columns = 1; },
  };
  std::set<std::string> texts{plan_text(small_plan())};
  for (const auto& change : changes) {
    Plan plan = small_plan();
    change(plan);
    texts.insert(plan_text(plan));
  }
  CHECK(texts.size() == std::size(changes) + 1);
}

TEST_CASE("cache key: a string cannot pass for a field") {
  Plan honest = small_plan();
  honest.name = std::string("a");
  honest.family = std::string("b");
  Plan forged = small_plan();
  forged.name = std::string("a\" family=\"b");
  CHECK(plan_text(honest) != plan_text(forged));
  forged.name = std::string("a\\");
  CHECK(plan_text(forged).starts_with("name=\"a\\\\\" family="));
}

TEST_CASE("cache key: the digest tells apart fields that read the same when joined") {
  CHECK(make_cache_key({{"a", "bc"}}).hex != make_cache_key({{"ab", "c"}}).hex);
  CHECK(make_cache_key({{"a", "b"}, {"c", "d"}}).hex != make_cache_key({{"a", "bcd"}}).hex);
  CHECK(make_cache_key({{"a", "b"}, {"c", "d"}}).hex != make_cache_key({{"c", "d"}, {"a", "b"}}).hex);
}

TEST_CASE("cache key: the same request has the same key, any other request another") {
  const Spec spec;
  const Plan plan = small_plan();
  const CacheKey key = kernel_cache_key(spec, plan, "nvrtc 13.0 aa");
  CHECK(key.hex == kernel_cache_key(spec, plan, "nvrtc 13.0 aa").hex);
  CHECK(key.hex.size() == 64);

  const std::function<void(Spec&)> changes[] = {
      [](Spec& s) { s.arch = Arch::sm_100a; },          [](Spec& s) { s.num_heads = 32; },
      [](Spec& s) { s.depth = 64; },                    [](Spec& s) { s.mask = Mask::full; },
      [](Spec& s) { s.score_type = ScoreType::bf16; },  [](Spec& s) { s.fill = Fill::negative_infinity; }};
  std::set<std::string> keys{key.hex, kernel_cache_key(spec, plan, "nvrtc 13.0 bb").hex};
  for (const auto& change : changes) {
    Spec other = spec;
    change(other);
    keys.insert(kernel_cache_key(other, plan, "nvrtc 13.0 aa").hex);
  }
  Plan other_plan = plan;
  other_plan.key_stages = 7;
  keys.insert(kernel_cache_key(spec, other_plan, "nvrtc 13.0 aa").hex);
  CHECK(keys.size() == std::size(changes) + 3);
}

TEST_CASE("cache key: its fields are labelled, and no file name is among them") {
  const CacheKey key = kernel_cache_key(Spec{}, small_plan(), "nvrtc 13.0 aa");
  std::vector<std::string> labels;
  for (const auto& [label, value] : key.fields) {
    labels.push_back(label);
    CHECK_FALSE(value.empty());
    CHECK(value.find("/usr") == std::string::npos);
    CHECK(value.find(MLAINDEX_SOURCE_DIR) == std::string::npos);
  }
  CHECK(labels == std::vector<std::string>{"format", "generator", "templates", "spec", "plan", "passes", "compiler",
                                           "options"});
}
