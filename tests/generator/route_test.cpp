#include "generator/route.h"
#include "generator/route_table.h"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace mlaindex;

namespace {

Spec spec_of(Arch arch, int num_heads) { return {.arch = arch, .num_heads = num_heads}; }

constexpr int h200_sms = 132;
constexpr int b200_sms = 148;

}  // namespace

TEST_CASE("the default plan of an arch is its first") {
  Spec spec;
  spec.arch = Arch::sm_100a;
  CHECK(route(spec)->name == "q_resident");
  spec.num_heads = 200;
  CHECK(route(spec).error().code == ErrorCode::unsupported_shape);
}

TEST_CASE("paged keys without a table: few columns take the narrow plan, more or unknown ones the wide plan") {
  Spec spec{.arch = Arch::sm_90a, .num_heads = 64, .mask = Mask::context, .layout = Layout::paged, .page_size = 64};
  const auto name = [&](int tokens, int requests) {
    return choose_route(spec, {tokens, 4096, requests}, {spec.arch, true, "", {}})->plan.name;
  };
  CHECK(route(spec)->name == "paged");
  CHECK(name(5, 5) == "paged_narrow");
  CHECK(name(10, 5) == "paged");
  spec.num_heads = 4;  // padded to 8
  CHECK(name(40, 5) == "paged_narrow");
  CHECK(name(45, 5) == "paged");
  spec.num_heads = 128;
  CHECK(name(5, 5) == "paged");
  spec.arch = Arch::sm_100a;  // has one plan, of as many columns as there are
  CHECK(name(5, 5) == "paged");
  CHECK(name(10, 5) == "paged");
}

TEST_CASE("keys are split when the token blocks underfill the machine, and only then") {
  Spec spec;
  spec.arch = Arch::sm_100a;
  spec.num_heads = 64;
  const Plan plan = make_plan(spec, "seed").value();  // 2 tokens a block, 64 keys a tile
  CHECK(launch_grid(spec, plan, {2 * b200_sms, 65536}, b200_sms).y == 1);
  const LaunchGrid one_block = launch_grid(spec, plan, {1, 65536}, b200_sms);
  CHECK(one_block.x == 1);
  CHECK(one_block.y >= b200_sms);
  CHECK(one_block.y <= 1024);  // never more parts than tiles
  CHECK(launch_grid(spec, plan, {1, 64}, b200_sms).y == 1);
  CHECK(launch_grid(spec, plan, {1, 65}, b200_sms).y <= 2);
}

TEST_CASE("a persistent plan fills the machine, with no CTA that cannot have a tile") {
  const Spec spec = spec_of(Arch::sm_90a, 64);
  const Plan plan = route(spec).value();  // 8 tokens a block, 64 keys a tile
  CHECK(launch_grid(spec, plan, {2048, 65536}, h200_sms).x == h200_sms);
  CHECK(launch_grid(spec, plan, {9, 129}, h200_sms).x == 2 * 3);
  CHECK(launch_grid(spec, plan, {9, 129}, h200_sms).y == 1);
}

TEST_CASE("nothing to do and absurd sizes give a legal answer") {
  for (Arch arch : all_archs) {
    const Spec spec = spec_of(arch, 4);
    for (const char* name : {"q_resident", "k_resident"}) {
      const Plan plan = make_plan(spec, name).value();
      for (const ProblemSize& size :
           {ProblemSize{0, 0}, {1, 0}, {2147483647, 2147483647}, {1, 2147483647}, {2147483647, 1}, {2147483647, 8192}}) {
        for (int sms : {0, 1, h200_sms, 1 << 20}) {
          const LaunchGrid grid = launch_grid(spec, plan, size, sms);
          CHECK(grid.x >= 1);
          CHECK(grid.x <= std::max(1, sms));
          CHECK(grid.y >= 1);
          CHECK(grid.y <= 65535);  // the grid's limit
        }
      }
      CHECK(launch_grid(spec, plan, {2147483647, 2147483647}, h200_sms).y == 1);
    }
  }
}
