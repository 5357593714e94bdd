// Bounds, alignment, initialisation and the two proxies of shared memory.
#include "tests/emulator/ptx_program.h"

using namespace mlaindex;
using namespace mlaindex::emulator;

TEST_CASE("Accesses outside a buffer, misaligned or to read-only memory stop the run") {
  PtxProgram program;
  program.body = "mov.u32 %r1, 1; st.global.u32 [%rd0+4096], %r1;";
  const RunReport report = program.run();
  REQUIRE(found(report, FaultKind::out_of_bounds));
  CHECK(report.faults[0].message.find("buffer 'out' of 4096 bytes") != std::string::npos);
  program.body = "mov.u32 %r1, 1; st.global.u32 [%rd0-4], %r1;";
  CHECK(found(program.run(), FaultKind::out_of_bounds));
  program.body = "mov.u32 %r1, 1; st.global.u32 [%rd0+2], %r1;";
  CHECK(found(program.run(), FaultKind::misaligned));
  program.body = "ld.shared.u32 %r1, [smem+16384];";
  CHECK(found(program.run(), FaultKind::out_of_bounds));
}

TEST_CASE("The size of shared memory counts in units of 128 bytes") {
  PtxProgram program;
  program.body = std::string("mov.u32 %r2, smem; mov.u32 %r1, %total_smem_size;") + kStoreResult;
  for (const auto& [bytes, total] : {std::pair{12, 128}, {128, 128}, {2064, 2176}}) {
    program.shared = ".shared .align 16 .b8 smem[" + std::to_string(bytes) + "];";
    program.run_clean();
    CHECK(program.out[0] == static_cast<std::uint32_t>(total));
  }
}

TEST_CASE("Reading what was never written is reported, for shared memory and registers") {
  PtxProgram program;
  program.body = "ld.shared.u32 %r1, [smem];";
  CHECK(found(program.run(), FaultKind::uninitialised_read));
  program.body = "add.u32 %r1, %r2, 1;";
  CHECK(found(program.run(), FaultKind::uninitialised_read));
  program.body = "mov.u32 %r1, %r2;";  // a copy that nobody uses
  program.run_clean();
}

namespace {

// Lane 0 loads a 1 x 128-byte box twice into one slot; the consumer reads it in between.
PtxProgram slot_reuse(const std::string& fence) {
  PtxProgram program;
  program.body =
      "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; mov.b64 %rd1, map0; cvta.param.u64 %rd2, %rd1; mov.u32 %r10, smem; add.u32 %r11, %r10, 1024;"
      " @%p1 mbarrier.init.shared::cta.b64 [%r11], 1; fence.mbarrier_init.release.cluster; bar.warp.sync -1;"
      " @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 128;"
      " @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd2, {0, 0}], [%r11];"
      " W0: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], 0; @!%p2 bra W0;"
      " shl.b32 %r4, %r2, 2; add.u32 %r5, %r10, %r4; ld.shared.u32 %r1, [%r5]; " + fence +
      " bar.warp.sync -1; @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 128;"
      " @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd2, {0, 1}], [%r11];"
      " W1: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], 1; @!%p2 bra W1; ld.shared.u32 %r6, [%r5]; add.u32 %r1, %r1, %r6;" +
      std::string(kStoreResult);
  return program;
}

}  // namespace

TEST_CASE("A slot read by generic loads needs a proxy fence before TMA refills it") {
  alignas(128) static std::uint32_t data[64];
  for (std::uint32_t i = 0; i < 64; ++i) data[i] = i;
  TensorMapParams map;
  map.address = reinterpret_cast<std::uintptr_t>(data);
  map.rank = 2;
  map.dims = {32, 2};
  map.strides = {128};
  map.box = {32, 1};
  map.type = TensorMapType::u32;
  for (const std::uint64_t seed : {0, 1, 5}) {
    PtxProgram good = slot_reuse("fence.proxy.async.shared::cta;");
    good.maps = {map};
    good.inputs = {{data, sizeof data}};
    good.options.seed = seed;
    good.run_clean();
    CHECK(good.out[3] == 3 + 35);
    PtxProgram bad = slot_reuse("");
    bad.maps = {map};
    bad.inputs = {{data, sizeof data}};
    bad.options.seed = seed;
    CHECK(found(bad.run(), FaultKind::proxy_hazard));
  }
}

TEST_CASE("Reading a slot before its TMA load is waited for is reported under a late schedule") {
  alignas(128) static std::uint32_t data[64];
  TensorMapParams map;
  map.address = reinterpret_cast<std::uintptr_t>(data);
  map.rank = 1;
  map.dims = {64};
  map.box = {32};
  map.type = TensorMapType::u32;
  PtxProgram program;
  program.threads = 1;
  program.maps = {map};
  program.inputs = {{data, sizeof data}};
  program.options.seed = 1;
  const std::string start =
      "mov.b64 %rd1, map0; cvta.param.u64 %rd2, %rd1; mov.u32 %r10, smem; add.u32 %r11, %r10, 1024; mbarrier.init.shared::cta.b64 [%r11], 1;"
      " fence.mbarrier_init.release.cluster; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], ";
  const std::string copy = "; cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%r10], [%rd2, {40}], [%r11]; ";
  const std::string wait = " W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], 0; @!%p2 bra W; ";
  program.body = start + "128" + copy + "ld.shared.u32 %r1, [%r10];" + wait;
  CHECK(found(program.run(), FaultKind::result_before_wait));
  program.body = start + "256" + copy + wait;  // twice the bytes that come
  const RunReport report = program.run();
  REQUIRE(found(report, FaultKind::deadlock));
  CHECK(report.faults[0].message.find("128 transaction bytes outstanding") != std::string::npos);
  program.body = start + "128" + copy;  // nobody waits
  CHECK(found(program.run(), FaultKind::unfinished_work));
  program.body = start + "128" + copy + wait + "ld.shared.u32 %r1, [%r10+100];" + kStoreResult;  // filled with zero
  program.out[0] = 5;
  program.run_clean();
  CHECK(program.out[0] == 0);
  std::string unfenced = start;
  unfenced.erase(unfenced.find("fence.mbarrier_init"), std::string("fence.mbarrier_init.release.cluster;").size());
  program.body = unfenced + "128" + copy + wait;
  CHECK(found(program.run(), FaultKind::missing_fence));
}
