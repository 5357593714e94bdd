#include <catch2/catch.hpp>

#include "generator/ptx/describe.h"
#include "generator/ptx/parser.h"
#include "generator/ptx/pipeline.h"
#include "generator/ptx/warp_reach.h"
#include "tests/ptx/test_data.h"

using namespace mlaindex;
using namespace mlaindex::ptx;
using Catch::Contains;

namespace {

Module module_of(const std::string& text) {
  const Result<Module> module = parse(text);
  if (!module) FAIL(module.error().text());
  return *module;
}

// Roles of data/pipeline.cu.
PassContext pipeline_context() {
  PassContext context;
  context.describe = true;
  context.roles = {{"math", 0, 4}, {"MMA issue", 4, 1}, {"TMA producer", 5, 1}};
  context.tensor_map_box_bytes = {{0, 8192}};
  return context;
}

std::vector<std::string> notes_about(const std::vector<Note>& notes, const std::string& subject) {
  std::vector<std::string> texts;
  for (const Note& note : notes)
    if (note.subject == subject) texts.push_back(note.text);
  return texts;
}

std::vector<Note> described(const Module& module, const PassContext& context, int registers = 64) {
  return describe(module, module.functions.back(), context, registers);
}

}  // namespace

TEST_CASE("the branches that a warp's index decides are followed") {
  const Module module = module_of(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n"
      ".reg .pred %p<8>; .reg .b32 %r<9>;\n"
      "mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5; shfl.sync.idx.b32 %r3|%p1, %r2, 0, 31, -1;\n"  // 0 1 2
      "ld.param.u32 %r4, [n]; setp.lt.s32 %p2, %r4, 1; setp.ne.s32 %p3, %r3, 2;\n"              // 3 4 5
      "or.pred %p4, %p2, %p3; @%p4 bra OTHERS; bar.warp.sync -1; bra END;\n"                    // 6 7 8 9
      "OTHERS: setp.gt.u32 %p5, %r1, 95; @!%p5 bra END; membar.cta;\n"                          // 10 11 12
      "END: ret;\n}\n");                                                                        // 13
  const Function& function = module.functions.back();
  const ControlFlow flow(function);
  const auto reached = [&](std::uint32_t warp, std::size_t instruction) {
    return static_cast<bool>(reached_by_warp(function, flow, warp)[instruction]);
  };
  for (std::uint32_t warp : {0u, 1u, 2u, 3u}) {
    CHECK(reached(warp, 8) == (warp == 2));
    CHECK(reached(warp, 12) == (warp == 3));
    CHECK(reached(warp, 13));
  }
  CHECK(reached(2, 10));  // n decides
}

TEST_CASE("the census is taken by role") {
  const auto census = notes_about(described(module_of(test_data("pipeline_sm_100a.ptx")), pipeline_context()), "census");
  REQUIRE(census.size() == 3);
  CHECK_THAT(census[0], Catch::StartsWith("math (warps 0-3): ") && Contains("tcgen05.ld 1") && !Contains("tcgen05.mma") &&
                            !Contains("TMA load"));
  CHECK_THAT(census[1], Catch::StartsWith("MMA issue (warp 4): ") && Contains("tcgen05.mma 4") && !Contains("tcgen05.ld "));
  CHECK_THAT(census[2], Catch::StartsWith("TMA producer (warp 5): ") && Contains("TMA load 1") && !Contains("tcgen05.mma"));
  PassContext without_roles = pipeline_context();
  without_roles.roles.clear();
  const auto whole = notes_about(described(module_of(test_data("pipeline_sm_100a.ptx")), without_roles), "census");
  REQUIRE(whole.size() == 1);
  CHECK_THAT(whole[0], Contains("tcgen05.mma 4") && Contains("TMA load 1"));
}

TEST_CASE("barriers are told by their counts, arrivals, bytes and waits") {
  const auto notes = described(module_of(test_data("pipeline_sm_100a.ptx")), pipeline_context());
  const auto barriers = notes_about(notes, "mbarrier");
  REQUIRE(barriers.size() == 2);
  CHECK_THAT(barriers[0], Catch::StartsWith("_ZZ8pipelineE8barriers+0: init 1 arrivals (") &&
                              Contains("arrivals: expecting 8192 bytes (TMA producer line ") &&
                              Contains("TMA: 8192 bytes of the map in parameter 0 (TMA producer line ") &&
                              Contains("waits: MMA issue line "));
  CHECK_THAT(barriers[1], Catch::StartsWith("_ZZ8pipelineE8barriers+8: init 1 arrivals (") &&
                              Contains("arrivals: tcgen05.commit (MMA issue line ") && Contains("waits: math line "));
}

TEST_CASE("barriers in dynamic shared memory have the names of the plan") {
  const Module module = module_of(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 shared[];\n"
      ".visible .entry k()\n{\n.reg .pred %p<4>; .reg .b32 %r<9>;\n"
      "mov.u32 %r1, shared; add.s32 %r2, %r1, 64;\n"
      "FILL: mbarrier.init.shared::cta.b64 [%r2], 3; add.s32 %r2, %r2, 8; setp.ne.s32 %p1, %r2, 96; @%p1 bra FILL;\n"
      "mbarrier.init.shared::cta.b64 [%r1+104], 7; mbarrier.init.shared::cta.b64 [%r1+112], 7; ret;\n}\n");
  PassContext context;
  context.barriers = {{"full", 64, 4}, {"empty", 96, 2}};
  const auto barriers = notes_about(described(module, context), "mbarrier");
  REQUIRE(barriers.size() == 3);
  CHECK_THAT(barriers[0], Catch::StartsWith("full: init 3 arrivals"));
  CHECK_THAT(barriers[1], Catch::StartsWith("empty[1]: init 7 arrivals"));
  CHECK_THAT(barriers[2], Catch::StartsWith("shared+112: init 7 arrivals"));
}

TEST_CASE("barriers named one by one and by a loop have one row, which tells them apart") {
  const Module module = module_of(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 shared[];\n"
      ".visible .entry k()\n{\n.reg .pred %p<4>; .reg .b32 %r<9>;\n"
      "mov.u32 %r1, shared; add.s32 %r2, %r1, 64; mov.u32 %r3, %r1;\n"
      "FILL: mbarrier.init.shared::cta.b64 [%r2], 3; mbarrier.init.shared::cta.b64 [%r3+256], 5;\n"
      "add.s32 %r2, %r2, 8; add.s32 %r3, %r3, 8; setp.ne.s32 %p1, %r2, 96; @%p1 bra FILL;\n"
      "mbarrier.init.shared::cta.b64 [%r1+96], 7;\n"
      "FIRST: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1+80], 0; @!%p2 bra FIRST;\n"
      "SECOND: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1+256], 0; @!%p2 bra SECOND; ret;\n}\n");
  PassContext context;
  context.barriers = {{"full", 64, 4}, {"single", 96, 1}};
  CHECK(notes_about(described(module, context), "mbarrier") ==
        std::vector<std::string>{"full: init 3 arrivals (line 9); waits: [2] line 12",
                                 "shared+256 and on: init 5 arrivals (line 9); waits: [0] line 13",
                                 "single: init 7 arrivals (line 11)"});
}

TEST_CASE("descriptors are decoded") {
  const auto blackwell = notes_about(described(module_of(test_data("pipeline_sm_100a.ptx")), pipeline_context()), "descriptor");
  REQUIRE(blackwell.size() == 1);
  CHECK_THAT(blackwell[0], Contains("M 64, N 64, e4m3 x e4m3 -> f32, A K-major, B K-major") &&
                               Contains("A and B: 128-byte swizzle") && Contains("stride 1024 bytes") &&
                               Contains("(4 times, lines "));
  const auto hopper = notes_about(described(module_of(test_data("pipeline_sm_90a.ptx")), pipeline_context()), "descriptor");
  REQUIRE_FALSE(hopper.empty());
  CHECK_THAT(hopper[0], Catch::StartsWith("wgmma.mma_async.sync.aligned.m64") && Contains("128-byte swizzle"));
}

TEST_CASE("register budgets, tensor memory and fences") {
  const auto blackwell = described(module_of(test_data("pipeline_sm_100a.ptx")), pipeline_context());
  CHECK_THAT(notes_about(blackwell, "registers").at(0), Contains("64 a thread at launch, .maxntid 192") && Contains("no setmaxnreg"));
  CHECK_THAT(notes_about(blackwell, "tensor memory").at(0),
             Contains("allocates 64 columns") && Contains("permit relinquished") && Contains("frees 64 columns"));
  CHECK_THAT(notes_about(blackwell, "proxy fence").at(0), Contains("fence.mbarrier_init.release.cluster"));
  PassContext context = pipeline_context();
  context.roles = {{"math", 0, 4}, {"producer", 4, 4}};
  const auto hopper = described(module_of(test_data("pipeline_sm_90a.ptx")), context, 168);
  const std::string registers = notes_about(hopper, "registers").at(0);
  INFO(registers);
  CHECK_THAT(registers, Contains("inc to 232") && Contains("dec to 40"));
  CHECK_THAT(registers, Contains("together " + std::to_string(32 * 4 * (232 + 40)) + " of the pool's " +
                                 std::to_string(32 * 8 * 168)));
}

TEST_CASE("every pass of the pipeline has its report") {
  Artifact artifact;
  artifact.ptx = test_data("pipeline_sm_100a.ptx");
  artifact.cubin = test_data("tile_sm_100a.cubin");  // of another kernel: nothing compares the two
  PassContext context = pipeline_context();
  context.entry = "tile";
  context.sm_number = 100;
  context.max_registers_per_thread = 16;
  context.max_shared_bytes = 1128;
  const Pipeline pipeline = default_pipeline();
  REQUIRE(pipeline.run(artifact, context).ok());
  const std::vector<PassReport> reports = pipeline.reports(artifact);
  REQUIRE(reports.size() == 4);
  const char* const names[] = {"facts", "resource_gate", "verify", "normalise"};
  for (std::size_t i = 0; i < reports.size(); ++i) {
    CHECK(reports[i].name == names[i]);
    CHECK(reports[i].version >= 1);
    CHECK_FALSE(reports[i].notes.empty());
  }
  CHECK(reports[1].notes[0].text == "16 of 16 registers, 0 bytes of spills, 128 of 1128 bytes of shared memory");
  CHECK(reports[3].notes[0].text == hex(artifact.code_digest));
}
