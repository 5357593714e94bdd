// Launches that overlap: what a kernel must not do before those in front of it are complete, and what it must not leave for
// after it has let the next one start.
#include "tests/emulator/ptx_program.h"

using namespace mlaindex;
using namespace mlaindex::emulator;

namespace {

std::size_t overlaps(const RunReport& report) {
  std::size_t count = 0;
  for (const Fault& fault : report.faults) count += fault.kind == FaultKind::launch_overlap;
  return count;
}

}  // namespace

TEST_CASE("A thread touches global memory only when it has waited for earlier launches") {
  PtxProgram program;
  program.body = std::string("griddepcontrol.wait; mov.u32 %r1, 7;") + kStoreResult;
  program.run_clean();
  CHECK(program.out[31] == 7);

  program.body = std::string("mov.u32 %r1, 7;") + kStoreResult + " griddepcontrol.wait;";
  const RunReport late = program.run();
  REQUIRE(overlaps(late) == 1);
  CHECK(late.faults[0].message.find("has not waited for earlier launches") != std::string::npos);
  CHECK(late.faults[0].count == 32);

  program.body = "griddepcontrol.wait; ld.global.u32 %r1, [%rd0]; ld.global.u32 %r2, [%rd0+4];";
  program.run_clean();
  program.body = "ld.global.u32 %r1, [%rd0]; griddepcontrol.wait; ld.global.u32 %r2, [%rd0+4];";
  CHECK(overlaps(program.run()) == 1);
}

TEST_CASE("A wait counts for the lanes that executed it") {
  PtxProgram program;
  program.body = std::string("mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 16; @%p1 griddepcontrol.wait; mov.u32 %r1, 7;") + kStoreResult;
  const RunReport report = program.run();
  REQUIRE(overlaps(report) == 1);
  CHECK(report.faults[0].count == 16);
}

TEST_CASE("A kernel that never waits for earlier launches is not launched before they are complete") {
  PtxProgram program;
  program.body = std::string("mov.u32 %r1, 7;") + kStoreResult;
  program.run_clean();
}

TEST_CASE("A CTA that ends without a wait lets the next launch begin before earlier ones are complete") {
  PtxProgram program;
  program.ctas = 2;
  program.body = "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 griddepcontrol.wait;";
  const RunReport report = program.run();
  REQUIRE(overlaps(report) == 1);
  CHECK(report.faults[0].cta[0] == 1);
  CHECK(report.faults[0].message.find("ended without waiting") != std::string::npos);
}

TEST_CASE("TMA waits for earlier launches as loads do, and prefetches do not") {
  std::vector<std::uint32_t> data(64, 5);
  PtxProgram program;
  program.inputs = {{data.data(), 256}};
  program.maps.resize(1);
  TensorMapParams& map = program.maps[0];
  map.address = reinterpret_cast<std::uintptr_t>(data.data());
  map.type = TensorMapType::u8;
  map.rank = 2;
  map.dims = {128, 2};
  map.strides = {128};
  map.box = {128, 1};
  const std::string before =
      "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; mov.b64 %rd1, map0; cvta.param.u64 %rd2, %rd1;"
      " prefetch.tensormap [%rd2]; mov.u32 %r10, smem; add.u32 %r11, %r10, 1024;"
      " @%p1 mbarrier.init.shared::cta.b64 [%r11], 1; fence.mbarrier_init.release.cluster; bar.warp.sync -1;";
  const std::string copy =
      " @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 128;"
      " @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd2, {0, 0}], [%r11];"
      " W0: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], 0; @!%p2 bra W0;";
  program.body = before + " griddepcontrol.wait;" + copy;
  program.run_clean();
  program.body = before + copy + " griddepcontrol.wait;";
  CHECK(overlaps(program.run()) == 1);
}

TEST_CASE("Tensor memory is allocated before the next launch may start") {
  const std::string allocate = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32;";
  const std::string free =
      " ld.shared.u32 %r1, [smem]; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;"
      " tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;";
  PtxProgram program;
  program.body = allocate + " griddepcontrol.launch_dependents;" + free;
  program.run_clean();
  program.body = "griddepcontrol.launch_dependents; " + allocate + free;
  CHECK(overlaps(program.run()) == 1);
}
