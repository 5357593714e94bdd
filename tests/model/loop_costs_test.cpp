#include <catch2/catch.hpp>

#include "generator/model/loop_costs.h"
#include "tests/model/recorded_listing.h"

using namespace mlaindex;
using namespace mlaindex::model;

namespace {

int count_of(const LoopCosts& costs, const std::string& opcode) {
  for (const OpcodeCount& one : costs.opcodes)
    if (one.opcode == opcode) return one.count;
  return 0;
}

}  // namespace

TEST_CASE("costs of the sm_90a kernel for 64 heads") {
  const Result<LoopCosts> costs = loop_costs(recorded_listing("sm_90a_h64.sass"), Arch::sm_90a);
  REQUIRE(costs.ok());
  CHECK(costs->elements == 128);
  CHECK(count_of(*costs, "FMNMX") == 128);
  CHECK(count_of(*costs, "QGMMA") == 8);
  CHECK(costs->opcodes.front().count == 128);
  CHECK(costs->fold.issue == 256);
  CHECK(costs->fold.alu == 256);  // 128 maxima at half rate
  CHECK(costs->fold.fma == 128);
  CHECK(costs->other.issue == 66);
  CHECK(costs->other.lsu == 24);  // two k_scale, two stores, a wait and a release
  CHECK(costs->slots_per_element() == Approx(2.516).epsilon(0.001));
}

TEST_CASE("costs of the sm_100a kernel for 64 heads") {
  const Result<LoopCosts> costs = loop_costs(recorded_listing("sm_100a_h64.sass"), Arch::sm_100a);
  REQUIRE(costs.ok());
  CHECK(costs->elements == 256);
  CHECK(count_of(*costs, "FFMA2") == 128);
  CHECK(count_of(*costs, "FADD2") == 122);
  CHECK(count_of(*costs, "FMNMX") == 16);  // of eight pairs
  CHECK(costs->fold.issue == 266);
  CHECK(costs->fold.fma == 500);  // packed: two clocks each
  CHECK(costs->fold.alu == 32);
  CHECK(costs->slots_per_element() == Approx(1.211).epsilon(0.001));
}

TEST_CASE("of a bf16 fold, relu counts: its sums end in single multiply-adds, and HFMA2 may be a constant") {
  std::string text = ".text.k:\n.tile:\n/*0000*/ HFMA2 R0, -RZ, RZ, 0, 0 ;\n";
  for (int i = 0; i < 16; ++i) {
    text += "/*0000*/ F2FP.RELU.BF16.F32.PACK_AB R1, R2, R3 ;\n";
    text += "/*0000*/ HFMA2.BF16_V2 R0, R1, R2, R0 ;\n";
  }
  text += "/*0000*/ FFMA R0, R1, R2, R0 ;\n/*0000*/ @P0 BRA `(.tile) ;\n/*0000*/ EXIT ;\n";
  const Result<LoopCosts> costs = loop_costs(text, Arch::sm_100a);
  REQUIRE(costs.ok());
  CHECK(costs->elements == 32);
  CHECK(costs->fold.alu == 32);
  CHECK(costs->fold.fma == 17);
  CHECK(costs->other.fma == 1);
}

TEST_CASE("opcodes keep their pipes busy") {
  CHECK(opcode_cost(Arch::sm_90a, "FFMA").pipe == Pipe::fma);
  CHECK(opcode_cost(Arch::sm_90a, "FFMA").clocks == 1);
  CHECK(opcode_cost(Arch::sm_90a, "FMNMX").clocks == 2);
  CHECK(opcode_cost(Arch::sm_100a, "FFMA2").clocks == 2);
  CHECK(opcode_cost(Arch::sm_90a, "FFMA2").pipe == Pipe::none);  // there is none
  CHECK(opcode_cost(Arch::sm_90a, "UIADD3").pipe == Pipe::uniform);
  CHECK(opcode_cost(Arch::sm_100a, "UTCQMMA").pipe == Pipe::none);
  CHECK(opcode_cost(Arch::sm_100a, "STG").pipe == Pipe::lsu);
  CHECK(opcode_cost(Arch::sm_100a, "BRA").pipe == Pipe::none);
}

TEST_CASE("costs pass on what is wrong with a listing") {
  const Result<LoopCosts> costs = loop_costs("", Arch::sm_90a);
  REQUIRE_FALSE(costs.ok());
  CHECK(costs.error().code == ErrorCode::invalid_file);
  CHECK(loop_costs(".text.k:\n/*0000*/ EXIT ;\n", Arch::sm_90a).error().code == ErrorCode::invalid_file);
  CHECK(LoopCosts{}.slots_per_element() == 0);
}
