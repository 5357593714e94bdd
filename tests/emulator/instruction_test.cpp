// Instructions that compute: integers, bits, floats, conversions, comparisons, moves.
#include "tests/emulator/ptx_program.h"

#include <bit>
#include <cmath>

using namespace mlaindex::emulator;

namespace {

// Lane 0's %r1 after the body.
std::uint32_t result(const std::string& body) {
  PtxProgram program;
  program.body = body + kStoreResult;
  program.run_clean();
  return program.out[0];
}

float result_float(const std::string& body) { return std::bit_cast<float>(result(body + " mov.b32 %r1, %f1;")); }

std::string f32(float value) {
  char text[16];
  std::snprintf(text, sizeof text, "0f%08X", std::bit_cast<std::uint32_t>(value));
  return text;
}

}  // namespace

TEST_CASE("Integer arithmetic wraps and widens") {
  CHECK(result("mov.u32 %r2, -1; add.s32 %r1, %r2, 2;") == 1);
  CHECK(result("mov.u32 %r2, 0x80000000; mul.hi.u32 %r1, %r2, 6;") == 3);
  CHECK(result("mov.u32 %r2, -3; mad.lo.s32 %r1, %r2, 5, 1;") == std::uint32_t(-14));
  CHECK(result("mov.u32 %r2, 0xFFFFFFFF; mul.wide.u32 %rd1, %r2, 4; shr.u64 %rd2, %rd1, 32; cvt.u32.u64 %r1, %rd2;") == 3);
  CHECK(result("mov.u32 %r2, -7; div.s32 %r1, %r2, 2;") == std::uint32_t(-3));
  CHECK(result("mov.u32 %r2, 7; rem.u32 %r1, %r2, 4;") == 3);
  CHECK(result("mov.u32 %r2, 0xFFFFFFFF; add.cc.u32 %r3, %r2, 1; addc.u32 %r1, 5, 0;") == 6);
  CHECK(result("mov.u32 %r2, -5; min.s32 %r1, %r2, 3;") == std::uint32_t(-5));
  CHECK(result("mov.u32 %r2, -5; min.u32 %r1, %r2, 3;") == 3);
}

TEST_CASE("Shifts clamp, fields and permutes follow their definitions") {
  CHECK(result("mov.u32 %r2, 1; shl.b32 %r1, %r2, 32;") == 0);
  CHECK(result("mov.u32 %r2, 0x80000000; shr.s32 %r1, %r2, 40;") == 0xFFFFFFFF);
  CHECK(result("mov.u32 %r2, 0x12345678; shf.l.wrap.b32 %r1, %r2, %r2, 8;") == 0x34567812);
  CHECK(result("mov.u32 %r2, 0x12345678; bfe.u32 %r1, %r2, 8, 12;") == 0x456);
  CHECK(result("mov.u32 %r2, 0x00000F00; bfe.s32 %r1, %r2, 8, 4;") == 0xFFFFFFFF);
  CHECK(result("mov.u32 %r2, 0x5; mov.u32 %r3, 0; bfi.b32 %r1, %r2, %r3, 4, 8;") == 0x50);
  CHECK(result("mov.u32 %r2, 0x33221100; mov.u32 %r3, 0x77665544; prmt.b32 %r1, %r2, %r3, 0x7531;") == 0x77553311);
  CHECK(result("mov.u32 %r2, 0xF0; mov.u32 %r3, 0xCC; mov.u32 %r4, 0xAA; lop3.b32 %r1, %r2, %r3, %r4, 0x96;") == (0xF0 ^ 0xCC ^ 0xAA));
  CHECK(result("mov.u32 %r2, 0x00010000; clz.b32 %r1, %r2;") == 15);
  CHECK(result("mov.u32 %r2, 0x00010000; bfind.u32 %r1, %r2;") == 16);
  CHECK(result("mov.u32 %r2, 0x00010000; bfind.shiftamt.u32 %r1, %r2;") == 15);
  CHECK(result("mov.u32 %r2, 0; bfind.shiftamt.u32 %r1, %r2;") == 0xFFFFFFFF);
  CHECK(result("mov.u32 %r2, 0xFFFFFF00; bfind.shiftamt.s32 %r1, %r2;") == 24);
}

TEST_CASE("f32 rounding, max and packed pairs") {
  const float third = 1.0f / 3.0f;
  CHECK(result_float("mov.f32 %f2, " + f32(third) + "; fma.rn.f32 %f1, %f2, " + f32(3.0f) + ", " + f32(-1.0f) + ";") ==
        std::fma(third, 3.0f, -1.0f));
  CHECK(result_float("mov.f32 %f2, " + f32(1.0f) + "; add.rz.f32 %f1, %f2, " + f32(-0x1p-30f) + ";") == 1.0f - 0x1p-24f);
  CHECK(result_float("mov.f32 %f2, " + f32(NAN) + "; max.f32 %f1, %f2, " + f32(2.0f) + ";") == 2.0f);
  CHECK(std::isnan(result_float("mov.f32 %f2, " + f32(NAN) + "; max.NaN.f32 %f1, %f2, " + f32(2.0f) + ";")));
  CHECK_FALSE(std::signbit(result_float("mov.f32 %f2, " + f32(-0.0f) + "; max.f32 %f1, %f2, " + f32(0.0f) + ";")));
  CHECK(result_float("mov.f32 %f2, " + f32(2.0f) + "; mov.f32 %f3, " + f32(3.0f) +
                     "; mov.b64 %rd1, {%f2, %f3}; mov.b64 %rd2, {%f3, %f3}; fma.rn.f32x2 %rd3, %rd1, %rd2, %rd1;"
                     " mov.b64 {%f4, %f5}, %rd3; sub.f32 %f1, %f5, %f4;") == 12.0f - 8.0f);
}

TEST_CASE("Conversions") {
  CHECK(result("mov.f32 %f2, " + f32(-2.5f) + "; cvt.rni.s32.f32 %r1, %f2;") == std::uint32_t(-2));
  CHECK(result("mov.f32 %f2, " + f32(-2.5f) + "; cvt.rzi.u32.f32 %r1, %f2;") == 0);
  CHECK(result("mov.f32 %f2, " + f32(1.0f) + "; mov.f32 %f3, " + f32(-2.0f) + "; cvt.rn.bf16x2.f32 %r1, %f2, %f3;") == 0x3F80C000);
  CHECK(result("mov.f32 %f2, " + f32(1.0f) + "; mov.f32 %f3, " + f32(-2.0f) + "; cvt.rn.relu.bf16x2.f32 %r1, %f2, %f3;") == 0x3F800000);
  CHECK(result("mov.f32 %f2, " + f32(448.0f) + "; mov.f32 %f3, " + f32(1.0f) +
               "; cvt.rn.satfinite.e4m3x2.f32 %rs1, %f2, %f3; cvt.u32.u16 %r1, %rs1;") == 0x7E38);
  CHECK(result("mov.u16 %rs1, 0x7E38; cvt.rn.f16x2.e4m3x2 %r1, %rs1;") == 0x5F003C00);
  CHECK(result("mov.u32 %r2, 300; cvt.sat.u8.u32 %r1, %r2;") == 255);
  CHECK(result("mov.u32 %r2, 0x80; cvt.s32.s8 %r1, %r2;") == 0xFFFFFF80);
}

TEST_CASE("bf16 pairs round each element once") {
  CHECK(result("mov.u32 %r2, 0x3F803F80; mov.u32 %r3, 0x40004000; fma.rn.bf16x2 %r1, %r2, %r3, %r2;") == 0x40404040);
  // 256 + 1 is a tie in bf16; it goes to even.
  CHECK(result("mov.u32 %r2, 0x43804380; mov.u32 %r3, 0x3F803F80; add.rn.bf16x2 %r1, %r2, %r3;") == 0x43804380);
  // 1.5 * 1.0078125 is a tie, which an addend of 2^-100 tips either way.
  CHECK(result("mov.u32 %r2, 0x3FC03FC0; mov.u32 %r3, 0x3F813F81; mov.u32 %r4, 0x8D800D80; fma.rn.bf16x2 %r1, %r2, %r3, %r4;") == 0x3FC13FC2);
  CHECK(result("mov.u32 %r2, 0x00010001; mov.u32 %r3, 0x40004000; fma.rn.bf16x2 %r1, %r2, %r3, %r2;") == 0x00030003);  // subnormal
}

TEST_CASE("NaN passes through relu and through sums of bf16") {
  CHECK(result("mov.f32 %f2, " + f32(NAN) + "; mov.f32 %f3, " + f32(-2.0f) + "; cvt.rn.relu.bf16x2.f32 %r1, %f2, %f3;") == 0x7FFF0000);
  CHECK(result("mov.f32 %f2, " + f32(-NAN) + "; mov.f32 %f3, " + f32(-0.0f) + "; cvt.rn.relu.bf16x2.f32 %r1, %f2, %f3;") == 0x7FFF0000);
  CHECK(result("mov.u32 %r2, 0x7FFF3F80; mov.u32 %r3, 0x00003F80; fma.rn.bf16x2 %r1, %r2, %r3, %r3;") == 0x7FFF4000);
  CHECK(result("mov.u32 %r2, 0x7F803F80; mov.u32 %r3, 0x00003F80; fma.rn.bf16x2 %r1, %r2, %r3, %r3;") == 0x7FFF4000);
  CHECK(result("mov.u32 %r2, 0x7F803F80; mov.u32 %r3, 0xFF80BF80; add.rn.bf16x2 %r1, %r2, %r3;") == 0x7FFF0000);
}

TEST_CASE("Comparisons, selects and predicates") {
  CHECK(result("mov.u32 %r2, -1; setp.lt.s32 %p1|%p2, %r2, 0; selp.b32 %r3, 1, 0, %p1; selp.b32 %r4, 1, 0, %p2;"
               " shl.b32 %r5, %r3, 1; or.b32 %r1, %r5, %r4;") == 2);
  CHECK(result("mov.u32 %r2, -1; setp.lt.u32 %p1, %r2, 0; setp.eq.or.s32 %p2, %r2, -1, %p1; selp.u32 %r1, 7, 8, %p2;") == 7);
  CHECK(result("mov.f32 %f2, " + f32(NAN) + "; setp.ne.f32 %p1, %f2, %f2; setp.neu.f32 %p2, %f2, %f2;"
               " xor.pred %p3, %p1, %p2; selp.b32 %r1, 1, 0, %p3;") == 1);
  CHECK(result("mov.u32 %r1, 5; setp.eq.s32 %p1, %r1, 6; @!%p1 mov.u32 %r1, 9; @%p1 mov.u32 %r1, 10;") == 9);
}

TEST_CASE("Lanes diverge and meet again") {
  PtxProgram program;
  program.body = std::string("mov.u32 %r2, %tid.x; mov.u32 %r1, 0; setp.lt.u32 %p1, %r2, 5; @%p1 bra LOW; mov.u32 %r1, 100;"
                             " bra JOIN; LOW: mov.u32 %r1, 1; JOIN: activemask.b32 %r3; popc.b32 %r4, %r3; add.u32 %r1, %r1, %r4;") +
                 kStoreResult;
  program.run_clean();
  CHECK(program.out[0] == 33);
  CHECK(program.out[20] == 132);
}

TEST_CASE("Shuffles, votes, reductions and elections") {
  PtxProgram program;
  program.body = std::string("mov.u32 %r2, %laneid; shfl.sync.bfly.b32 %r3|%p1, %r2, 1, 31, -1;"
                             " shfl.sync.up.b32 %r4|%p2, %r2, 3, 0, -1; redux.sync.max.u32 %r5, %r2, -1;"
                             " setp.lt.u32 %p3, %r2, 4; vote.sync.ballot.b32 %r6, %p3, -1; elect.sync %r7|%p4, -1;"
                             " selp.u32 %r8, 1000, 0, %p4; add.u32 %r1, %r3, %r4; add.u32 %r1, %r1, %r5; add.u32 %r1, %r1, %r6;"
                             " add.u32 %r1, %r1, %r8;") +
                 kStoreResult;
  program.run_clean();
  CHECK(program.out[0] == 1 + 0 + 31 + 15 + 1000);
  CHECK(program.out[7] == 6 + 4 + 31 + 15);
}

TEST_CASE("An unknown instruction stops the run and names its line") {
  PtxProgram program;
  program.body = "mov.u32 %r1, 1;\nvabsdiff4.u32.u32.u32 %r2, %r1, %r1, %r1;";
  const RunReport report = program.run();
  CHECK_FALSE(report.completed);
  REQUIRE(found(report, FaultKind::unknown_instruction));
  CHECK(report.faults[0].line != 0);
  CHECK(report.faults[0].message.find("vabsdiff4") != std::string::npos);
}

TEST_CASE("An unknown modifier stops the run, but only when it is reached") {
  PtxProgram program;
  program.body = "mov.u32 %r1, 1; setp.eq.u32 %p1, %r1, 2; @%p1 bra NEVER; bra END; NEVER: shfl.sync.bfly.b32.fancy %r2, %r1, 1, 31, -1; END:";
  program.run_clean();
}
