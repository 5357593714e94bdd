// tcgen05 and wgmma on one small tile, and what goes wrong with them.
#include "tests/emulator/ptx_program.h"

#include "emulator/number_format.h"

using namespace mlaindex;
using namespace mlaindex::emulator;

namespace {

// A [128 x 32] and B [8 x 32] of e4m3 in two maps with rows of 32 bytes.
struct Tile {
  alignas(128) std::uint8_t a[128 * 32];
  alignas(128) std::uint8_t b[8 * 32];
  Tile() {
    for (int i = 0; i < 128 * 32; ++i) a[i] = f32_to_e4m3(static_cast<float>((i * 7 + i / 32) % 9) - 4);
    for (int i = 0; i < 8 * 32; ++i) b[i] = f32_to_e4m3(static_cast<float>((i * 5 + i / 32) % 7) - 3);
  }
  float expected(int m, int n) const {
    const Decoded* table = decode_table(NumberFormat::e4m3);
    float sum = 0;
    for (int k = 0; k < 32; ++k) sum += table[a[m * 32 + k]].value * table[b[n * 32 + k]].value;
    return sum;
  }
  std::vector<TensorMapParams> maps() const {
    TensorMapParams map;
    map.rank = 2;
    map.strides = {32};
    map.swizzle = TensorMapSwizzle::b32;
    map.address = reinterpret_cast<std::uintptr_t>(a);
    map.dims = {32, 128};
    map.box = {32, 128};
    TensorMapParams second = map;
    second.address = reinterpret_cast<std::uintptr_t>(b);
    second.dims = {32, 8};
    second.box = {32, 8};
    return {map, second};
  }
  std::vector<std::pair<const void*, std::size_t>> inputs() const { return {{a, sizeof a}, {b, sizeof b}}; }
};

// Shared memory: A at smem, B at +4096, mbarriers at +8192 (loads) and +8200 (mma), slot at +8208.
const std::string kLoad =
    "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; mov.u32 %r10, smem; add.u32 %r11, %r10, 4096; add.u32 %r12, %r10, 8192; add.u32 %r13, %r10, 8200;"
    " mov.b64 %rd1, map0; cvta.param.u64 %rd2, %rd1; mov.b64 %rd3, map1; cvta.param.u64 %rd4, %rd3;"
    " @%p1 mbarrier.init.shared::cta.b64 [%r12], 1; @%p1 mbarrier.init.shared::cta.b64 [%r13], 1; fence.mbarrier_init.release.cluster; bar.sync 0;"
    " @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r12], 4352;"
    " @%p1 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r10], [%rd2, {0, 0}], [%r12];"
    " @%p1 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r11], [%rd4, {0, 0}], [%r12];"
    " WL: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r12], 0; @!%p2 bra WL;\n";

struct Blackwell {
  std::string alloc = "setp.lt.u32 %p5, %r2, 32; @!%p5 bra NA; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem+8208], 32; NA:"
                      " tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync; ld.shared.u32 %r20, [smem+8208];\n";
  std::string idesc = "mov.u32 %r21, 0x08020010;\n";  // M = 128, N = 8, e4m3 x e4m3 -> f32
  std::string descriptors =
      " shr.u32 %r22, %r10, 4; cvt.u64.u32 %rd5, %r22; or.b64 %rd6, %rd5, 0xC000401000000000; shr.u32 %r23, %r11, 4; cvt.u64.u32 %rd7, %r23;"
      " or.b64 %rd8, %rd7, 0xC000401000000000;\n";
  std::string mma = "@%p1 tcgen05.mma.cta_group::1.kind::f8f6f4 [%r20], %rd6, %rd8, %r21, 0;\n";
  std::string commit = "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r13];\n";
  std::string wait = "WM: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r13], 0; @!%p3 bra WM;\n";
  std::string fence = "tcgen05.fence::after_thread_sync;\n";
  std::string load = "tcgen05.ld.sync.aligned.32x32b.x8.b32 {%r100, %r101, %r102, %r103, %r104, %r105, %r106, %r107}, [%r20];\n";
  std::string wait_load = "tcgen05.wait::ld.sync.aligned;\n";
  std::string use = "mul.wide.u32 %rd10, %r2, 32; add.s64 %rd11, %rd0, %rd10; st.global.v4.u32 [%rd11], {%r100, %r101, %r102, %r103};"
                    " st.global.v4.u32 [%rd11+16], {%r104, %r105, %r106, %r107};\n";
  std::string release = "bar.sync 0; @!%p5 bra ND; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r20, 32; ND:\n";

  RunReport run(std::uint64_t seed, PtxProgram& program) const {
    static const Tile tile;
    program.threads = 128;
    program.maps = tile.maps();
    program.inputs = tile.inputs();
    program.options.seed = seed;
    program.body = kLoad + alloc + idesc + descriptors + mma + commit + wait + fence + load + wait_load + use + release;
    return program.run();
  }
  bool finds(FaultKind kind, std::initializer_list<std::uint64_t> seeds = {1}) const {
    for (const std::uint64_t seed : seeds) {
      PtxProgram program;
      const RunReport report = run(seed, program);
      INFO(report.text());
      if (found(report, kind)) return true;
    }
    return false;
  }
};

}  // namespace

TEST_CASE("tcgen05 multiplies a tile under every kind of schedule") {
  const Tile tile;
  for (const std::uint64_t seed : {0, 1, 2, 3, 4, 5}) {
    PtxProgram program;
    const RunReport report = Blackwell{}.run(seed, program);
    INFO(report.text());
    REQUIRE(report.clean());
    for (int m = 0; m < 128; ++m)
      for (int n = 0; n < 8; ++n) CHECK(program.out_float(static_cast<std::size_t>(m * 8 + n)) == tile.expected(m, n));
  }
}

TEST_CASE("The same seed gives the same run") {
  PtxProgram first, second;
  const RunReport a = Blackwell{}.run(9, first), b = Blackwell{}.run(9, second);
  CHECK(a.warp_instructions == b.warp_instructions);
  CHECK(first.out == second.out);
}

TEST_CASE("Defects of a tcgen05 kernel are found") {
  Blackwell k;
  SECTION("no wait for the loads") {
    Blackwell broken = k;
    broken.wait.clear();
    CHECK(broken.finds(FaultKind::result_before_wait));
  }
  SECTION("no fence after the wait") {
    Blackwell broken = k;
    broken.fence.clear();
    CHECK(broken.finds(FaultKind::missing_fence, {0}));
    CHECK(broken.finds(FaultKind::missing_fence, {1}));
  }
  SECTION("no wait::ld") {
    Blackwell broken = k;
    broken.wait_load.clear();
    CHECK(broken.finds(FaultKind::result_before_wait, {0}));
  }
  SECTION("no commit") {
    Blackwell broken = k;
    broken.commit.clear();
    CHECK(broken.finds(FaultKind::deadlock));
  }
  SECTION("no dealloc") {
    Blackwell broken = k;
    broken.release.clear();
    CHECK(broken.finds(FaultKind::tensor_memory_leak, {0}));
  }
  SECTION("columns past the allocation") {
    Blackwell broken = k;
    broken.load = "add.u32 %r24, %r20, 25; tcgen05.ld.sync.aligned.32x32b.x8.b32 {%r100, %r101, %r102, %r103, %r104, %r105, %r106, %r107}, [%r24];\n";
    CHECK(broken.finds(FaultKind::out_of_bounds, {0}));
  }
  SECTION("columns off by one") {
    Blackwell broken = k;
    broken.load = "tcgen05.ld.sync.aligned.32x32b.x8.b32 {%r100, %r101, %r102, %r103, %r104, %r105, %r106, %r107}, [%r20+1];\n";
    CHECK(broken.finds(FaultKind::uninitialised_read, {0}));
  }
  SECTION("a wgmma descriptor") {
    Blackwell broken = k;
    broken.descriptors = k.descriptors;
    broken.descriptors.replace(broken.descriptors.find("0xC0004010"), 10, "0xC0000010");
    CHECK(broken.finds(FaultKind::illegal_operand, {0}));
  }
  SECTION("an illegal shape") {
    Blackwell broken = k;
    broken.idesc = "mov.u32 %r21, 0x06020010;\n";  // M = 96
    CHECK(broken.finds(FaultKind::illegal_operand, {0}));
  }
  SECTION("accumulating into undefined cells") {
    Blackwell broken = k;
    broken.mma.replace(broken.mma.find(", 0;"), 4, ", 1;");
    CHECK(broken.finds(FaultKind::uninitialised_read, {0}));
  }
  SECTION("operands overwritten while the mma may still read them") {
    Blackwell broken = k;
    broken.commit += "bar.sync 0; @%p1 st.shared.u32 [smem], %r2;\n";
    CHECK(broken.finds(FaultKind::slot_overwritten));
  }
  SECTION("all lanes issue the mma") {
    Blackwell broken = k;
    broken.mma.erase(0, 5);
    CHECK(broken.finds(FaultKind::aligned_divergence, {0}));
  }
}

namespace {

const std::string kHopperMma =
    " shr.u32 %r22, %r10, 4; cvt.u64.u32 %rd5, %r22; or.b64 %rd6, %rd5, 0xC000001000000000; shr.u32 %r23, %r11, 4; cvt.u64.u32 %rd7, %r23;"
    " or.b64 %rd8, %rd7, 0xC000001000000000;\n";
const std::string kFence = "wgmma.fence.sync.aligned;\n";
const std::string kMma = "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%f1, %f2, %f3, %f4}, %rd6, %rd8, 0, 1, 1;\n";
const std::string kCommit = "wgmma.commit_group.sync.aligned;\n";
const std::string kWait = "wgmma.wait_group.sync.aligned 0;\n";
const std::string kUse =
    "shr.u32 %r30, %r2, 5; shl.b32 %r31, %r30, 4; and.b32 %r32, %r2, 31; shr.u32 %r33, %r32, 2; add.u32 %r34, %r31, %r33; and.b32 %r35, %r2, 3;"
    " shl.b32 %r36, %r35, 1; shl.b32 %r37, %r34, 3; add.u32 %r38, %r37, %r36; mul.wide.u32 %rd10, %r38, 4; add.s64 %rd11, %rd0, %rd10;"
    " st.global.f32 [%rd11], %f1; st.global.f32 [%rd11+4], %f2; st.global.f32 [%rd11+256], %f3; st.global.f32 [%rd11+260], %f4;\n";

RunReport run_hopper(const std::string& body, std::uint64_t seed, PtxProgram& program) {
  static const Tile tile;
  program.target = "sm_90a";
  program.threads = 128;
  program.maps = tile.maps();
  program.inputs = tile.inputs();
  program.options.seed = seed;
  program.body = kLoad + kHopperMma + body;
  return program.run();
}

}  // namespace

TEST_CASE("wgmma multiplies a tile") {
  const Tile tile;
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    PtxProgram program;
    const RunReport report = run_hopper(kFence + kMma + kCommit + kWait + kUse, seed, program);
    INFO(report.text());
    REQUIRE(report.clean());
    for (int m = 0; m < 64; ++m)
      for (int n = 0; n < 8; ++n) CHECK(program.out_float(static_cast<std::size_t>(m * 8 + n)) == tile.expected(m, n));
  }
}

TEST_CASE("Defects of a wgmma kernel are found") {
  PtxProgram program;
  CHECK(found(run_hopper(kFence + kMma + kCommit + kUse, 1, program), FaultKind::result_before_wait));
  CHECK(found(run_hopper(kFence + kMma + kUse, 0, program), FaultKind::result_before_wait));
  CHECK(found(run_hopper(kMma + kCommit + kWait + kUse, 0, program), FaultKind::missing_fence));
  CHECK(found(run_hopper(kFence + kMma + kCommit + "bar.sync 0; @%p1 st.shared.u32 [smem], %r2;" + kWait + kUse, 1, program),
              FaultKind::slot_overwritten));
  CHECK(found(run_hopper(kFence + "mov.f32 %f1, 0f00000000;" + kMma + kCommit + kWait + kUse, 0, program), FaultKind::missing_fence));
}
