// The race that hardware never showed on small shapes: the math warps read the key scales of a ring
// slot and release it, TMA refills it through the other proxy, and nothing orders the two. A refill
// that overtakes the read scores a key with another key's scale.
#include <catch2/catch.hpp>

#include "tests/mutation/mutation.h"
#include "tests/mutation/sites.h"
#include "tests/mutation/subject.h"
#include "tests/mutation/test_store.h"

using namespace mlaindex;
using namespace mlaindex::mutation;

TEST_CASE("k_scale race: without the proxy fence before the refill, a proxy hazard is reported on a small shape") {
  KernelStore store = memory_only_store();
  for (Arch arch : all_archs) {
    for (const std::string& plan : plan_names(arch, Layout::paged)) {
      auto subject = Subject::make(store, arch, plan, Layout::paged);
      if (!subject) FAIL(subject.error().text());
      CHECK(subject->judge(subject->module(), 2).emulator == "");

      Editor changed(subject->module());
      const auto fence = next(changed, 0, is_proxy_fence);
      REQUIRE(fence);
      changed.erase(*fence);
      REQUIRE_FALSE(next(changed, 0, is_proxy_fence));

      const Judgement judgement = subject->judge(changed.module(), 4);
      INFO(subject->name() << "\n" << judgement.verify << "\n" << judgement.emulator);
      CHECK_THAT(judgement.verify, Catch::Contains("proxy_fence"));
      CHECK_THAT(judgement.emulator, Catch::Contains("proxy_hazard"));
    }
  }
}
