#include "generator/plan.h"

#include <functional>

#include <catch2/catch.hpp>

#include "generator/route.h"
#include "generator/source.h"

using namespace mlaindex;
using Catch::Contains;

namespace {

Spec spec_of(Arch arch, int num_heads, int depth) {
  Spec spec;
  spec.arch = arch;
  spec.num_heads = num_heads;
  spec.depth = depth;
  return spec;
}

}  // namespace

TEST_CASE("every plan of every head count and depth is legal, and whole tokens fill its columns") {
  for (Arch arch : all_archs) {
    for (const std::string& name : plan_names(arch)) {
      for (int heads = 1; heads <= max_num_heads; ++heads) {
        for (int depth : {32, 64, 128}) {
          const Result<Plan> plan = make_plan(spec_of(arch, heads, depth), name);
          REQUIRE(plan.ok());
          const Status legal = check_plan(*plan, arch);
          if (!legal) FAIL(legal.error().text());
          CHECK(plan->tokens_per_block * plan->padded_heads == plan->column_groups * 128);
          int barriers = 0;
          for (const BarrierGroup& group : barrier_groups(*plan)) {
            CHECK(static_cast<int>(group.offset) == plan->region("barriers")->offset + 8 * barriers);
            barriers += static_cast<int>(group.count);
          }
          CHECK(8 * barriers == plan->region("barriers")->bytes);
        }
      }
    }
  }
}

TEST_CASE("every paged plan of every head count, depth and page size is legal, and its barriers are those of the kernel's text") {
  for (Arch arch : all_archs) {
    for (const std::string& name : plan_names(arch, Layout::paged)) {
      for (int heads : {1, 4, 8, 12, 16, 32, 64, 128}) {
        if (name == "paged_narrow" && heads > 64) continue;
        for (int depth : {32, 64, 128}) {
          for (int page_size : {16, 32, 64, 128, 256}) {
            Spec spec = spec_of(arch, heads, depth);
            spec.layout = Layout::paged;
            spec.page_size = page_size;
            spec.mask = Mask::context;
            const Plan plan = make_plan(spec, name).value();
            const Status legal = check_plan(plan, arch);
            if (!legal) FAIL(legal.error().text());
            CHECK(plan.tokens_per_block == plan.column_groups * plan.tokens_per_box);
            const std::string source = *emit_source(spec, plan);
            std::size_t at = 0;
            int barriers = 0;
            for (const BarrierGroup& group : barrier_groups(plan)) {
              const std::size_t declared = source.find("const u32 " + group.name + " = ");
              CHECK(declared != std::string::npos);
              CHECK(declared > at);
              at = declared;
              barriers += static_cast<int>(group.count);
            }
            CHECK(8 * barriers == plan.region("barriers")->bytes);
          }
        }
      }
    }
  }
}

TEST_CASE("barriers have the names that the kernels give them") {
  const Plan plan = *make_plan(spec_of(Arch::sm_100a, 64, 128), "q_resident");
  const std::vector<BarrierGroup> groups = barrier_groups(plan);
  const auto base = static_cast<std::uint32_t>(plan.region("barriers")->offset);
  CHECK(barrier_name(groups, base) == "key_full[0]");
  CHECK(barrier_name(groups, base + 8 * 7) == "key_empty[3]");
  CHECK(barrier_name(groups, base + 8 * 11) == "accumulator_empty[1]");
  CHECK(barrier_name(groups, base + 8 * 12) == "work_full[0]");
  CHECK(barrier_name(groups, base + 8 * 19) == "block_empty[1]");
  CHECK(barrier_name(groups, base + 8 * 20).empty());
  CHECK(barrier_name(groups, base + 4).empty());
  CHECK(barrier_name(groups, base - 8).empty());
  const Plan keys_stay = *make_plan(spec_of(Arch::sm_100a, 64, 128), "k_resident");
  const auto first = static_cast<std::uint32_t>(keys_stay.region("barriers")->offset);
  CHECK(barrier_name(barrier_groups(keys_stay), first + 8 * 4) == "accumulator_full[0]");  // no key_empty
  CHECK(barrier_name(barrier_groups(keys_stay), first + 8 * 23) == "block_empty[3]");
}

TEST_CASE("the order of barriers is that of the kernels' own text") {
  for (Arch arch : all_archs) {
    for (const std::string& name : plan_names(arch)) {
      const Spec spec = spec_of(arch, 64, 128);
      const Plan plan = *make_plan(spec, name);
      const std::string source = *emit_source(spec, plan);
      std::size_t at = 0;
      for (const BarrierGroup& group : barrier_groups(plan)) {
        INFO(group.name);
        const std::size_t declared = source.find("const u32 " + group.name + " = ");
        REQUIRE(declared != std::string::npos);
        CHECK(declared > at);
        at = declared;
      }
    }
  }
}

TEST_CASE("an unknown plan is refused with the names there are") {
  CHECK(make_plan(spec_of(Arch::sm_90a, 64, 128), "seed").error().text() ==
        "no plan 'seed' for sm_90a and contiguous keys (allowed: q_resident, k_resident)");
  CHECK(make_plan(spec_of(Arch::sm_100a, 64, 128), "").error().text() ==
        "no plan '' for sm_100a and contiguous keys (allowed: q_resident, k_resident, seed)");
  Spec paged = spec_of(Arch::sm_90a, 128, 128);
  paged.layout = Layout::paged;
  paged.page_size = 64;
  paged.mask = Mask::context;
  CHECK(make_plan(paged, "q_resident").error().text() ==
        "no plan 'q_resident' for sm_90a and paged keys (allowed: paged, paged_narrow, paged_deep)");
  CHECK(make_plan(paged, "paged_narrow").error().text() ==
        "plan 'paged_narrow' with num_heads = 128 (allowed: up to 64; plans: paged, paged_narrow, paged_deep)");
}

TEST_CASE("plans that a route may choose: the default one first, no yardstick, none that refuses the spec") {
  using Names = std::vector<std::string_view>;
  CHECK(routable_plans(Arch::sm_100a, Layout::contiguous) == Names{"q_resident", "k_resident"});
  for (Arch arch : all_archs) {
    for (Layout layout : {Layout::contiguous, Layout::paged}) {
      const Names routable = routable_plans(arch, layout);
      CHECK(routable.at(0) == plan_names(arch, layout).at(0));
      for (int heads : {1, 64, 65, 128}) {
        for (FoldType fold : {FoldType::f32, FoldType::bf16}) {
          Spec spec = spec_of(arch, heads, 128);
          spec.layout = layout;
          spec.fold = fold;
          if (layout == Layout::paged) spec.mask = Mask::context, spec.page_size = 64;
          Names accepted;
          for (std::string_view name : routable)
            if (make_plan(spec, name)) accepted.push_back(name);
          CHECK(routable_plans(spec) == accepted);
        }
      }
    }
  }
}

TEST_CASE("a plan without a bf16 fold refuses one by name") {
  const Spec spec{.arch = Arch::sm_100a, .fold = FoldType::bf16};
  CHECK(make_plan(spec, "q_resident"));
  const Error refused = make_plan(spec, "seed").error();
  CHECK(refused.code == ErrorCode::unsupported_shape);
  CHECK(refused.text() == "plan 'seed' of sm_100a with fold = bf16 (its fold is f32; plans: q_resident, k_resident, seed)");
  CHECK(kernel_name(spec, make_plan(spec, "q_resident").value()) == "mlaindex_score_sm_100a_q_resident_h64_d128_ragged_causal_f32_bf16_fold");
}

TEST_CASE("an illegal plan is refused with the limit it breaks") {
  struct Broken {
    const char* limit;
    Arch arch;
    std::function<void(Plan&)> change;
  };
  const Broken cases[] = {
      {"bytes of shared memory", Arch::sm_100a, [](Plan& plan) { plan.shared.back().bytes += 40000; }},
      {"bytes of shared memory", Arch::sm_90a, [](Plan& plan) { plan.shared.back().bytes += 200000; }},
      {"overlaps", Arch::sm_90a, [](Plan& plan) { plan.shared.back().offset = 8; }},
      {"tensor memory columns", Arch::sm_100a, [](Plan& plan) { plan.tensor_memory_columns = 384; }},
      {"tensor memory columns", Arch::sm_100a, [](Plan& plan) { plan.tensor_memory_columns = 1024; }},
      {"past its 256 tensor memory columns", Arch::sm_100a, [](Plan& plan) { plan.tensor_memory_columns = 256; }},
      {"tensor memory columns", Arch::sm_90a, [](Plan& plan) { plan.tensor_memory_columns = 256; }},
      {"registers from a pool", Arch::sm_90a, [](Plan& plan) { plan.roles[0].registers = 240; }},
      {"registers from a pool", Arch::sm_100a, [](Plan& plan) { plan.ctas_per_sm = 3; plan.tensor_memory_columns = 0; plan.tensor_memory.clear(); plan.shared.clear(); }},
      {"inside a warpgroup", Arch::sm_100a, [](Plan& plan) { plan.roles[2].registers = 48; }},
      {"multiples of 8", Arch::sm_90a, [](Plan& plan) { plan.roles[0].registers = 108; }},
      {"whole warpgroups", Arch::sm_90a, [](Plan& plan) { plan.num_threads = 600; }},
      {"gap before", Arch::sm_90a, [](Plan& plan) { plan.roles[1].first_warp = 18; }},
      {"every warp has a role", Arch::sm_90a, [](Plan& plan) { plan.roles.pop_back(); }},
      {"wgmma on e4m3 has M 64", Arch::sm_90a, [](Plan& plan) { plan.mma_m = 128; }},
      {"N 16 to 256 in steps of 16", Arch::sm_100a, [](Plan& plan) { plan.mma_n = 120; }},
      {"TMA box", Arch::sm_90a, [](Plan& plan) { plan.tile_keys = 512; }},
  };
  for (const Broken& broken : cases) {
    Plan plan = route(spec_of(broken.arch, 64, 128)).value();
    broken.change(plan);
    const Status status = check_plan(plan, broken.arch);
    INFO(broken.limit);
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == ErrorCode::unsupported_shape);
    CHECK_THAT(status.error().text(), Contains(broken.limit));
  }
}

TEST_CASE("kernel names are C identifiers of their own") {
  Spec spec = spec_of(Arch::sm_100a, 12, 64);
  spec.fill = Fill::negative_infinity;
  const std::string name = kernel_name(spec, make_plan(spec, "seed").value());
  CHECK(name == "mlaindex_score_sm_100a_seed_h12_d64_ragged_causal_f32_filled");
}
