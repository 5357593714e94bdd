// Barriers, mbarriers and the progress of single lanes.
#include "tests/emulator/ptx_program.h"

using namespace mlaindex::emulator;

TEST_CASE("One lane waits on an mbarrier while the others wait for it") {
  // Warp 0: lane 0 spins, lanes 1..31 stand at the warp barrier. Warp 1 arrives after its own work.
  PtxProgram program;
  program.threads = 64;
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    program.options.seed = seed;
    program.body = std::string(
        "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; @%p1 mbarrier.init.shared::cta.b64 [smem], 32; bar.sync 0;"
        " setp.lt.u32 %p2, %r2, 32; @!%p2 bra ARRIVE; @!%p1 bra JOIN;"
        " WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p3, [smem], 0; @%p3 bra JOIN; bra WAIT;"
        " ARRIVE: mov.u32 %r9, 50; SPIN: sub.u32 %r9, %r9, 1; setp.ne.u32 %p5, %r9, 0; @%p5 bra SPIN;"
        " mbarrier.arrive.shared::cta.b64 _, [smem]; mov.u32 %r1, 2; bra STORE;"
        " JOIN: bar.warp.sync -1; mov.u32 %r1, 1; STORE: ") + kStoreResult;
    program.run_clean();
    CHECK(program.out[0] == 1);
    CHECK(program.out[31] == 1);
    CHECK(program.out[40] == 2);
  }
}

TEST_CASE("A deadlock names who waits for which phase") {
  PtxProgram program;
  program.body = "mbarrier.init.shared::cta.b64 [smem], 33; bar.sync 0; mbarrier.arrive.shared::cta.b64 _, [smem];"
                 " WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p3, [smem], 0; @!%p3 bra WAIT;";
  program.body.insert(0, "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; @%p1 ");
  const RunReport report = program.run();
  REQUIRE(found(report, FaultKind::deadlock));
  CHECK(report.faults[0].message.find("parity 0") != std::string::npos);
  CHECK(report.faults[0].message.find("1 of 33 arrivals pending") != std::string::npos);
}

TEST_CASE("A fresh barrier's previous phase is complete, its first is not") {
  PtxProgram program;
  program.threads = 1;
  program.body = std::string("mbarrier.init.shared::cta.b64 [smem], 1; mbarrier.test_wait.parity.shared::cta.b64 %p1, [smem], 1;"
                             " mbarrier.test_wait.parity.shared::cta.b64 %p2, [smem], 0; selp.u32 %r2, 2, 0, %p1; selp.u32 %r3, 1, 0, %p2;"
                             " or.b32 %r1, %r2, %r3;") + kStoreResult;
  program.run_clean();
  CHECK(program.out[0] == 2);
}

TEST_CASE("Too many arrivals and uninitialised barriers are reported") {
  PtxProgram program;
  program.body = "mbarrier.arrive.shared::cta.b64 _, [smem];";
  CHECK(found(program.run(), FaultKind::barrier_misuse));
  program.body = "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; @%p1 mbarrier.init.shared::cta.b64 [smem], 31; bar.sync 0;"
                 " mbarrier.expect_tx.shared::cta.b64 [smem], 16; mbarrier.arrive.shared::cta.b64 _, [smem];";
  CHECK(found(program.run(), FaultKind::barrier_misuse));
}

TEST_CASE("Named barriers join the threads they are told to") {
  PtxProgram program;
  program.threads = 96;
  program.body = std::string("mov.u32 %r2, %tid.x; shr.u32 %r3, %r2, 5; setp.eq.u32 %p1, %r3, 2; @%p1 bra DONE;"
                             " setp.eq.u32 %p2, %r2, 0; mov.u32 %r4, 7; @%p2 st.shared.u32 [smem], %r4; bar.sync 3, 64;"
                             " ld.shared.u32 %r1, [smem]; ") + kStoreResult + " DONE:";
  program.run_clean();
  CHECK(program.out[63] == 7);
  CHECK(program.out[64] == 0);
}

TEST_CASE("An aligned barrier that half the warp never reaches is reported") {
  PtxProgram program;
  program.body = "mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 16; @%p1 bra OTHER; bar.sync 1; bra END; OTHER: bar.sync 2; END:";
  CHECK(found(program.run(), FaultKind::aligned_divergence));
}

TEST_CASE("A cluster barrier joins CTAs, and mapa reaches their shared memory") {
  PtxProgram program;
  program.ctas = 2;
  program.cluster = 2;
  program.body = "mov.u32 %r2, %cluster_ctarank; add.u32 %r3, %r2, 40; mov.u32 %r4, smem; st.shared.u32 [%r4], %r3;"
                 " barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; xor.b32 %r5, %r2, 1;"
                 " mapa.shared::cluster.u32 %r6, %r4, %r5; ld.shared::cluster.u32 %r1, [%r6];"
                 " mul.wide.u32 %rd60, %r2, 4; add.s64 %rd61, %rd0, %rd60; st.global.u32 [%rd61], %r1;"
                 " barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
  program.run_clean();
  CHECK(program.out[0] == 41);
  CHECK(program.out[1] == 40);
}

TEST_CASE("setmaxnreg stays inside the pool") {
  PtxProgram program;
  program.threads = 256;
  program.directives = ".maxntid 256, 1, 1 .minnctapersm 2";  // 128 registers a thread
  program.body = "mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 128; @%p1 bra BIG; setmaxnreg.dec.sync.aligned.u32 40; bra END;"
                 " BIG: setmaxnreg.inc.sync.aligned.u32 216; END:";
  program.run_clean();
  program.body = "mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 128; @%p1 bra BIG; setmaxnreg.dec.sync.aligned.u32 40; bra END;"
                 " BIG: setmaxnreg.inc.sync.aligned.u32 224; END:";
  const RunReport report = program.run();
  REQUIRE(found(report, FaultKind::deadlock));
  CHECK(report.faults[0].message.find("registers a thread") != std::string::npos);
  program.body = "mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 32; @%p1 bra A; setmaxnreg.dec.sync.aligned.u32 40; bra END;"
                 " A: setmaxnreg.dec.sync.aligned.u32 24; END:";
  CHECK(found(program.run(), FaultKind::register_pool));
}
