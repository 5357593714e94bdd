#include <catch2/catch.hpp>

#include "generator/ptx/parser.h"
#include "generator/ptx/verify.h"
#include "tests/ptx/test_data.h"

using namespace mlaindex;
using namespace mlaindex::ptx;

namespace {

std::vector<Finding> findings_of(const std::string& text, const VerifyContext& context = {}) {
  const Result<Module> module = parse(text);
  if (!module) FAIL(module.error().text());
  return verify(*module, module->functions.back(), context);
}

VerifyContext launched_with(int registers) {
  VerifyContext context;
  context.launch_registers = registers;
  return context;
}

// The text with the first `what` replaced.
std::string mutated(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

std::string without(std::string text, const std::string& instruction) {
  while (text.find(instruction) != std::string::npos) text = mutated(text, instruction, "");
  return text;
}

void check_found(const std::string& text, const std::string& rule, const std::string& words,
                 const VerifyContext& context = {}) {
  const std::vector<Finding> findings = findings_of(text, context);
  REQUIRE_FALSE(findings.empty());
  INFO(findings.front().text());
  CHECK(findings.front().rule == rule);
  CHECK_THAT(findings.front().text(), Catch::Contains(words));
}

// Keys go through a ring of two stages that threads read and TMA refills. No thread waits for another, and the address
// of the barrier is moved each time, as in a ring of barriers.
const char* const kRing = R"(.version 9.0
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 shared[];
.visible .entry ring(.param .align 64 .b8 map[128], .param .u64 out)
.maxntid 128, 1, 1
{
  .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<4>; .reg .f32 %f<3>;
  mov.u32 %r1, shared; add.s32 %r2, %r1, 4096; add.s32 %r3, %r1, 4160; mov.b64 %rd1, map;
  mbarrier.init.shared::cta.b64 [%r2], 128;
  fence.mbarrier_init.release.cluster;
  bar.sync 0;
  mov.u32 %r4, %tid.x; setp.ne.s32 %p1, %r4, 0;
  st.shared.u32 [%r3], %r4; bar.warp.sync -1;
  mov.u32 %r5, 0;
  @%p1 bra READ;
FILL:
  shl.b32 %r6, %r5, 9; add.s32 %r7, %r1, %r6; mov.u32 %r12, %r2;
  // producer fence
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r12], 512;
  cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r7], [%rd1, {%r5}], [%r12];
  add.s32 %r5, %r5, 1; setp.lt.s32 %p2, %r5, 8; @%p2 bra FILL;
  ret;
READ:
  shl.b32 %r8, %r5, 9; add.s32 %r9, %r8, %r1; mov.u32 %r13, %r2;
  ld.shared.f32 %f1, [%r9+16];
  // consumer fence
  mbarrier.arrive.shared::cta.b64 _, [%r13];
  ld.shared.u32 %r10, [%r3];
  add.s32 %r5, %r5, 1; setp.lt.s32 %p2, %r5, 8; @%p2 bra READ;
  ret;
}
)";

}  // namespace

TEST_CASE("kernels that keep the contract have no findings") {
  CHECK(findings_of(test_data("pipeline_sm_90a.ptx"), launched_with(232)).empty());
  CHECK(findings_of(test_data("pipeline_sm_100a.ptx"), launched_with(16)).empty());
}

TEST_CASE("census") {
  const Module hopper = parse(test_data("pipeline_sm_90a.ptx")).value();
  const std::map<std::string, int> counts = census(hopper.functions.back());
  CHECK(counts.at("wgmma.mma_async") == 2);
  CHECK(counts.at("TMA load") == 2);
  CHECK(counts.at("mbarrier.init") == 2);
  CHECK(counts.at("setmaxnreg") == 2);
  CHECK_FALSE(counts.contains("ld.local"));
  CHECK(census(parse(test_data("pipeline_sm_100a.ptx")).value().functions.back()).at("tcgen05.mma") >= 1);
}

TEST_CASE("register pool") {
  const std::string text = test_data("pipeline_sm_90a.ptx");
  check_found(mutated(text, "dec.sync.aligned.u32 40", "dec.sync.aligned.u32 20"), "register_pool", "multiple of 8");
  check_found(mutated(text, "inc.sync.aligned.u32 232", "inc.sync.aligned.u32 236"), "register_pool", "multiple of 8");
  check_found(without(text, ".minnctapersm 1"), "register_pool", ".minnctapersm");
  check_found(without(text, ".maxntid 256, 1, 1"), "register_pool", ".maxntid");
  check_found(text, "register_pool", "less or more than the 240", launched_with(240));
  check_found(without(text, "setmaxnreg.inc.sync.aligned.u32 232;"), "register_pool", "taken by no setmaxnreg.inc");
  check_found(without(text, "setmaxnreg.dec.sync.aligned.u32 40;"), "register_pool", "that no setmaxnreg.dec gives up");
  // 2 warpgroups x 128 registers: 232 + 40 do not fit.
  check_found(text, "register_pool", "at least 272", launched_with(128));
  CHECK(findings_of(text, launched_with(136)).empty());
}

TEST_CASE("mbarriers") {
  const std::string text = test_data("pipeline_sm_90a.ptx");
  check_found(mutated(text, "mov.u32 \t%r5, 128;", "mov.u32 \t%r5, 0;"), "mbarrier", "arrival count is 0");
  check_found(mutated(text, "mov.u32 \t%r5, 128;", "mov.u32 \t%r5, 1048576;"), "mbarrier", "1 to 1048575");
  check_found(without(text, "fence.mbarrier_init.release.cluster;"), "mbarrier", "fence.mbarrier_init");
  check_found(without(text, "bar.sync \t0;"), "mbarrier", "without a barrier of the CTA");
  // A fence elsewhere does not help.
  const std::string fenced = mutated(kRing, "// consumer fence", "fence.proxy.async.shared::cta;");
  check_found(without(fenced, "fence.mbarrier_init.release.cluster;"), "mbarrier", "may not see the barrier");
  std::string uninitialised = without(text, "mbarrier.init.shared::cta.b64 [%r2], %r3;");
  uninitialised = without(uninitialised, "mbarrier.init.shared::cta.b64 [%r4], %r5;");
  check_found(uninitialised, "mbarrier", "no mbarrier.init");
}

TEST_CASE("arrivals against the counts of mbarrier.init") {
  const std::string hopper = test_data("pipeline_sm_90a.ptx");
  check_found(mutated(hopper, "mov.u32 \t%r5, 128;", "mov.u32 \t%r5, 127;"), "arrivals", "counts 127 arrivals, 128 threads arrive");
  check_found(mutated(hopper, "mov.u32 \t%r3, 1;", "mov.u32 \t%r3, 2;"), "arrivals", "counts 2 arrivals, 1 threads arrive");
  // Lane 0 of each of four warps, one lane elected in each of three, every thread of one warp.
  const auto kernel = [](const std::string& arrive, int count) {
    return mutated(R"(.version 9.0
.target sm_100a
.address_size 64
.shared .align 8 .b8 barriers[16];
.visible .entry k(.param .u64 out)
.maxntid 128, 1, 1
{
  .reg .pred %p<6>; .reg .b32 %r<9>;
  mov.u32 %r1, barriers; mov.u32 %r2, %tid.x; shr.u32 %r3, %r2, 5; shfl.sync.idx.b32 %r3|%p1, %r3, 0, 31, -1;
  mbarrier.init.shared::cta.b64 [%r1], )" + std::to_string(count) + R"(; fence.mbarrier_init.release.cluster; bar.sync 0;
  arrive
  ret;
}
)", "arrive\n", arrive + "\n");
  };
  const std::string arrive = " mbarrier.arrive.shared::cta.b64 _, [%r1];";
  const std::string lane_0 = "mov.u32 %r4, %laneid; setp.ne.s32 %p2, %r4, 0; @%p2 bra OUT;" + arrive + " OUT:";
  const std::string elected = "setp.eq.s32 %p2, %r3, 1; elect.sync _|%p3, -1; selp.u32 %r5, 1, 0, %p3; setp.eq.s32 %p4, %r5, 0; "
                              "or.pred %p5, %p4, %p2; @%p5 bra OUT;" + arrive + " OUT:";
  const std::string one_warp = "setp.ne.s32 %p2, %r3, 2; @!%p2" + arrive;
  CHECK(findings_of(kernel(lane_0, 4)).empty());
  CHECK(findings_of(kernel(elected, 3)).empty());
  CHECK(findings_of(kernel(one_warp, 32)).empty());
  check_found(kernel(lane_0, 128), "arrivals", "counts 128 arrivals, 4 threads arrive");
  check_found(kernel(elected, 4), "arrivals", "3 threads arrive");
  check_found(kernel(one_warp, 1), "arrivals", "32 threads arrive");
  // Nothing is said of barriers of other CTAs, of arrivals that carry a count, of a block of unknown size.
  CHECK(findings_of(kernel("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];", 4)).empty());
  const std::string counted = "mbarrier.arrive.shared::cta.b64 _, [%r1], 2;";
  CHECK(findings_of(kernel(counted, 4)).empty());
  check_found(kernel(counted + " mbarrier.init.shared::cta.b64 [%r1+8], 3; mbarrier.arrive.shared::cta.b64 _, [%r1+8];", 4), "arrivals",
              "counts 3 arrivals, 128 threads arrive");
  CHECK(findings_of(without(kernel(lane_0, 128), ".maxntid 128, 1, 1")).empty());

  // A thread arrives once between two waits; the next barrier of a ring is another one, and so is another thread.
  check_found(kernel(arrive + arrive, 128), "arrivals", "arrives a second time at the barrier of line 11");
  check_found(kernel("AGAIN:" + arrive + " @%p5 bra AGAIN;", 128), "arrivals", "arrives a second time");
  CHECK(findings_of(kernel(arrive + " mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;" + arrive, 128)).empty());
  CHECK(findings_of(kernel(arrive + " add.s32 %r1, %r1, 8;" + arrive, 128)).empty());
  const std::string is_not_first = "mov.u32 %r4, %laneid; setp.ne.s32 %p2, %r4, 0; ";
  CHECK(findings_of(kernel(is_not_first + "@%p2" + arrive + " @!%p2" + arrive, 128)).empty());

  // Lane 0 arrives for its warp when all lanes have stored.
  const std::string store = "st.shared.u32 [%r1+8], %r2; ";
  check_found(kernel(store + lane_0, 4), "arrivals", "others of its warp may still have to store in line 11");
  CHECK(findings_of(kernel(store + "bar.warp.sync -1; " + lane_0, 4)).empty());
  CHECK(findings_of(kernel(is_not_first + "@%p2 bra OUT; " + store + arrive + " OUT:", 4)).empty());

  const std::string blackwell = test_data("pipeline_sm_100a.ptx");
  check_found(mutated(blackwell, "@%p9 bra", "@!%p9 bra"), "arrivals", "one must be elected");
}

TEST_CASE("tensor memory") {
  const std::string text = test_data("pipeline_sm_100a.ptx");
  const std::string alloc = "tcgen05.alloc.cta_group::1";
  check_found(without(text, "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"), "tensor_memory", "relinquish");
  check_found(mutated(text, "tcgen05.dealloc.cta_group::1", "tcgen05.dealloc.cta_group::2"), "tensor_memory", "cta_group::2");
  const std::size_t at = text.find("tcgen05.dealloc");
  REQUIRE(at != std::string::npos);
  const std::string leaking = std::string(text).erase(at, text.find(';', at) - at);
  check_found(leaking, "tensor_memory", "no tcgen05.dealloc");
  const std::size_t allocation = text.find(alloc);
  REQUIRE(allocation != std::string::npos);
  check_found(std::string(text).erase(allocation, text.find(';', allocation) - allocation), "tensor_memory", "not allocated");
  check_found(mutated(text, ", 64;", ", 48;"), "tensor_memory", "48 columns");
  check_found(mutated(text, ", 64;", ", 128;"), "tensor_memory", "128 columns are allocated and 64 freed");
}

TEST_CASE("order of tensor core work") {
  const std::string blackwell = test_data("pipeline_sm_100a.ptx");
  const std::string hopper = test_data("pipeline_sm_90a.ptx");
  check_found(without(blackwell, "tcgen05.wait::ld.sync.aligned;"), "order", "tcgen05.wait::ld");
  check_found(without(blackwell, "tcgen05.fence::after_thread_sync;"), "order", "fence::after_thread_sync");
  const std::size_t commit = blackwell.find("tcgen05.commit");
  REQUIRE(commit != std::string::npos);
  check_found(std::string(blackwell).erase(commit, blackwell.find(';', commit) - commit), "order", "no tcgen05.commit");
  check_found(without(blackwell, "tcgen05.fence::before_thread_sync;"), "order", "other warps learn of the allocation");
  const std::string last_fence = "tcgen05.fence::after_thread_sync;\n\t// end inline asm\n\t// begin inline asm\n\ttcgen05.dealloc";
  check_found(mutated(blackwell, last_fence, "tcgen05.dealloc"), "order", "behind a barrier of the CTA");
  check_found(without(hopper, "wgmma.wait_group.sync.aligned 0;"), "order", "before wgmma.wait_group");
  check_found(without(hopper, "wgmma.commit_group.sync.aligned;"), "order", "no wgmma.commit_group");
  check_found(without(hopper, "wgmma.fence.sync.aligned;"), "order", "no wgmma.fence");
  check_found(mutated(blackwell, "tcgen05.wait::ld.sync.aligned;",
                      "mbarrier.arrive.shared::cta.b64 _, [_ZZ8pipelineE8barriers]; tcgen05.wait::ld.sync.aligned;"),
              "order", "released before tcgen05.wait::ld");
  check_found(mutated(blackwell, "tcgen05.wait::ld.sync.aligned;",
                      "tcgen05.wait::ld.sync.aligned; mbarrier.arrive.shared::cta.b64 _, [_ZZ8pipelineE8barriers];"),
              "order", "fence::before_thread_sync");
}

TEST_CASE("descriptors") {
  const std::string blackwell = test_data("pipeline_sm_100a.ptx");
  const std::string hopper = test_data("pipeline_sm_90a.ptx");
  const auto descriptor = [&](std::uint32_t bits) { return mutated(blackwell, "68157456", std::to_string(bits)); };
  CHECK(findings_of(descriptor(0x08100010)).empty());  // 128 x 64
  check_found(descriptor(0x0c100010), "descriptor", "M 192, N 64");
  check_found(descriptor(0x04020010 | 1u << 23), "descriptor", "reserved");
  check_found(descriptor(0x04000010), "descriptor", "N 0");
  check_found(descriptor(0x04100110), "descriptor", "operand format of 2");
  check_found(descriptor(0x04100030), "descriptor", "accumulator");
  check_found(descriptor(0x04100014), "descriptor", "sparse");
  const std::string constant = "4611756662049472512";  // 128-byte swizzle, bit 46, 1024-byte groups
  check_found(mutated(blackwell, constant, "4611686293305294848"), "descriptor", "bit 46");
  check_found(mutated(blackwell, constant, "4612882561956315136"), "descriptor", "must be 0");  // base offset 2
  check_found(mutated(blackwell, constant, "6917599671263166464"), "descriptor", "swizzle mode 3");
  check_found(mutated(hopper, "4611686293305294848", constant), "descriptor", "must be 0");
}

TEST_CASE("expected bytes against the boxes of the tensor maps") {
  const auto boxes = [](std::uint64_t bytes) {
    VerifyContext context;
    context.tensor_map_box_bytes = {{0, bytes}};
    return context;
  };
  const std::string text = test_data("pipeline_sm_90a.ptx");
  CHECK(findings_of(text, boxes(8192)).empty());
  check_found(text, "transaction_bytes", "expects 8192 bytes, the 1 loads that follow bring 4096", boxes(4096));
  CHECK(findings_of(test_data("pipeline_sm_100a.ptx"), boxes(8192)).empty());
  check_found(test_data("pipeline_sm_100a.ptx"), "transaction_bytes", "bring 16384", boxes(16384));
  VerifyContext other;
  other.tensor_map_box_bytes = {{1, 4096}};  // not the parameter that the loads take
  CHECK(findings_of(text, other).empty());
}

TEST_CASE("a slot that threads read and TMA refills needs a proxy fence") {
  check_found(kRing, "proxy_fence", "ld.shared.f32");
  CHECK(findings_of(kRing).size() == 1);  // the other load reads what threads wrote
  CHECK(findings_of(mutated(kRing, "// consumer fence", "fence.proxy.async.shared::cta;")).empty());
  CHECK(findings_of(mutated(kRing, "// producer fence", "fence.proxy.async.shared::cta;")).empty());
  // Behind the release that the refill waits for it is too late.
  std::string ring = mutated(kRing, "// producer fence", "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r11], 0; @!%p3 bra WAIT;");
  ring = mutated(ring, "mbarrier.arrive.shared::cta.b64 _, [%r13];",
                 "mov.u32 %r14, %r11; mbarrier.arrive.shared::cta.b64 _, [%r14]; fence.proxy.async.shared::cta; "
                 "mbarrier.arrive.shared::cta.b64 _, [%r13];");
  ring = mutated(ring, "mbarrier.init.shared::cta.b64 [%r2], 128;",
                 "add.s32 %r11, %r2, 8; mbarrier.init.shared::cta.b64 [%r2], 128; mbarrier.init.shared::cta.b64 [%r11], 127;");
  check_found(ring, "proxy_fence", "between the read and its release");
  CHECK(findings_of(mutated(ring, "// consumer fence", "fence.proxy.async.shared::cta;")).empty());
  // Filled once: nothing to overtake.
  CHECK(findings_of(without(kRing, "@%p2 bra FILL;")).empty());
}

TEST_CASE("warp-wide instructions that one lane reaches alone") {
  const auto kernel = [](const std::string& body) {
    return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
           ".reg .pred %p<5>; .reg .b32 %r<5>;\n" + body + "\nret;\n}\n";
  };
  const std::string elect = "elect.sync _|%p1, -1; ";
  check_found(kernel(elect + "@%p1 bra ONE; bra ALL; ONE: bar.sync 0; ALL:"), "aligned", "only the lane elected");
  check_found(kernel(elect + "@!%p1 bra ALL; bar.warp.sync -1; ALL:"), "aligned", "only the lane elected");
  check_found(kernel(elect + "@%p1 bar.sync 0;"), "aligned", "only the elected lane");
  check_found(kernel(elect + "selp.b32 %r1, 1, 0, %p1; setp.eq.s32 %p2, %r1, 0; @%p2 bra ALL; "
                             "LOOP: bar.sync 0; @%p3 bra LOOP; ALL:"), "aligned", "only the lane elected");
  CHECK(findings_of(kernel(elect + "@%p1 bra ONE; bra ALL; ONE: mov.b32 %r1, 1; ALL: bar.sync 0;")).empty());
  CHECK(findings_of(kernel(elect + "@!%p1 bra ALL; LOOP: @%p3 bra LOOP; ALL: bar.warp.sync -1;")).empty());
  CHECK(findings_of(kernel("@%p1 bra SOME; bra ALL; SOME: bar.sync 0; ALL:")).empty());
}

TEST_CASE("the pass refuses with the line, or notes what it found when asked") {
  Artifact artifact;
  artifact.ptx = test_data("pipeline_sm_100a.ptx");
  REQUIRE(VerifyPass().run(artifact, {}).ok());
  CHECK(artifact.notes.empty());
  PassContext context;
  context.describe = true;
  REQUIRE(VerifyPass().run(artifact, context).ok());
  REQUIRE_FALSE(artifact.notes.empty());
  CHECK(artifact.notes[0].subject == "census");
  CHECK_THAT(artifact.notes[0].text, Catch::Contains("tcgen05.alloc 1"));

  artifact.ptx = without(artifact.ptx, "tcgen05.wait::ld.sync.aligned;");
  const Status status = VerifyPass().run(artifact, {});
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::rejected_by_pass);
  CHECK_THAT(status.error().message, Catch::Contains("pipeline breaks the kernel contract") &&
                                         Catch::Contains("line ") && Catch::Contains("tcgen05.ld.sync.aligned"));
}
