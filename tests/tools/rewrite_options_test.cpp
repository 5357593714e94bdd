#include <catch2/catch.hpp>

#include "tools/rewrite_options.h"

using namespace mlaindex;
using namespace mlaindex::tools;

TEST_CASE("rewrite items become the options of the pass") {
  const Result<ptx::RewriteOptions> options =
      parse_rewrite({"max-registers=128", "evict-first=q", "evict-last=k", "evict-normal=k_scale",
                     "pragma=enable_smem_spilling", "strip-debug", "ptxas=--register-usage-level=10", "ptxas=-v"});
  REQUIRE(options.ok());
  CHECK(options->max_registers == 128);
  CHECK(options->tma_eviction == std::map<int, ptx::Eviction>{{0, ptx::Eviction::first},
                                                              {1, ptx::Eviction::last},
                                                              {2, ptx::Eviction::normal}});
  CHECK(options->entry_pragmas == std::vector<std::string>{"enable_smem_spilling"});
  CHECK(options->strip_debug);
  CHECK(options->assembler_options == std::vector<std::string>{"--register-usage-level=10", "-v"});
  CHECK(*parse_rewrite({}) == ptx::RewriteOptions{});
}

TEST_CASE("rewrite items that are not understood are refused with what is allowed") {
  for (const char* item : {"", "max-registers", "max-registers=", "max-registers=many", "max-registers=1x",
                           "evict-last=scores", "evict=k", "strip-debug=yes", "pragma=a\"b", "ptxas="}) {
    const Result<ptx::RewriteOptions> options = parse_rewrite({item});
    INFO(item);
    REQUIRE_FALSE(options.ok());
    CHECK(options.error().code == ErrorCode::invalid_argument);
    CHECK_THAT(options.error().message, Catch::StartsWith(std::string("--rewrite ") + item + ": "));
    CHECK_THAT(options.error().hint, Catch::Contains("max-registers=N") && Catch::Contains("strip-debug"));
  }
}
