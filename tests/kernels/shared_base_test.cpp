// Kernels at another start of shared memory: their declared alignment is all they may lean on.
#include <catch2/catch.hpp>

#include "tests/kernels/compiled.h"
#include "tests/kernels/emulated_case.h"

using namespace mlaindex;

TEST_CASE("every plan is right wherever shared memory begins: its array is declared with what it leans on") {
  KernelStore store(memory_only(), Log());
  for (Arch arch : all_archs) {
    for (const std::string& plan : plan_names(arch)) {
      for (std::uint32_t base : {0x410u, 0x480u, 0x600u}) {
        const tools::CaseRequest request{.num_tokens = 6, .num_keys = 300, .num_requests = 2, .num_heads = 64, .depth = 128,
                                         .mask = Mask::ragged_causal, .exact = true};
        INFO(arch_name(arch) << ' ' << plan << " at " << base);
        CHECK(trouble(store, arch, plan, request, forms[0], EmulatorSettings{.seed = 2, .shared_base = base}) == "");
      }
      const auto kernel = store.get(Spec{.arch = arch}, plan);
      REQUIRE(kernel.ok());
      CHECK_THAT(kernel->kernel->ptx, Catch::Contains(".extern .shared .align 1024 "));
    }
  }
}
