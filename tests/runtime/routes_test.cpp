#include "runtime/routes.h"

#include <fstream>

#include <catch2/catch.hpp>

#include "runtime/kernel_store.h"
#include "tests/runtime/fake_compiler.h"
#include "tests/runtime/message_collector.h"
#include "tests/runtime/temporary_directory.h"

using namespace mlaindex;
using Catch::Contains;

namespace {

// At this size the rule takes paged_narrow, and the file paged_deep.
constexpr const char* text =
    "mlaindex-routes 1\narch sm_90a\nmeasured NVIDIA H20\npaged 64 128 1 1 8192 paged=4 paged_narrow=3.5 paged_deep=3\n";
constexpr ProblemSize size{1, 8192, 1};

Spec paged_spec() {
  return {.arch = Arch::sm_90a, .mask = Mask::context, .layout = Layout::paged, .page_size = 64};
}

struct Fixture {
  TemporaryDirectory directory;
  MessageCollector collector;

  Config config_of(const std::string& contents) {
    Config config;
    config.routes_path = directory.path() / "my.routes";
    std::ofstream(config.routes_path, std::ios::binary) << contents;
    return config;
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "routes: a table of one's own stands in for the shipped one of its arch") {
  const Config config = config_of(text);
  const Routes routes(config, collector.log());
  CHECK(collector.messages.empty());
  CHECK(routes.table(Arch::sm_90a).gpu == "NVIDIA H20");
  CHECK(routes.origin(Arch::sm_90a) == config.routes_path.string());
  CHECK(&routes.table(Arch::sm_100a) == &shipped_route_table(Arch::sm_100a));
  CHECK(routes.origin(Arch::sm_100a) == "shipped");
  CHECK(find_plan(paged_spec(), "", size, routes)->name == "paged_deep");
  CHECK(find_plan(paged_spec(), "paged", size, routes)->name == "paged");
  CHECK(find_plan(paged_spec(), "best", size, routes).error().code == ErrorCode::invalid_argument);

  KernelStore store(config, collector.log(), make_fake_compiler(std::make_shared<FakeCompilerState>()), FileSystem());
  const Result<KernelLookup> lookup = store.get(paged_spec(), "", size);
  if (!lookup) FAIL(lookup.error().text());
  CHECK(lookup->kernel->plan.name == "paged_deep");
}

TEST_CASE_METHOD(Fixture, "routes: a table that cannot be used is one warning, and the shipped ones are in effect") {
  Config config = config_of("mlaindex-routes 1\narch sm_90a\nmeasured H20\npaged 64 128 1 1 8192 fast=1\n");
  const Log log = collector.log();
  for (int i = 0; i < 2; ++i) CHECK(Routes(config, log).origin(Arch::sm_90a) == "shipped");
  REQUIRE(collector.messages.size() == 1);
  CHECK_THAT(collector.messages[0].second, Contains("the shipped route tables are used") && Contains("my.routes:4: no plan 'fast'") &&
                                               Contains("allowed: paged"));
  config.routes_path = directory.path() / "absent";
  CHECK(Routes(config, log).origin(Arch::sm_90a) == "shipped");
  CHECK_THAT(collector.messages.back().second, Contains("absent' cannot be read"));
  CHECK(read_route_table(directory.path().string()).error().code == ErrorCode::invalid_file);
}
