#include <catch2/catch.hpp>

#include "generator/ptx/control_flow.h"
#include "generator/ptx/parser.h"
#include "generator/ptx/register_values.h"

using namespace mlaindex;
using namespace mlaindex::ptx;

namespace {

Module kernel(const std::string& body) {
  const Result<Module> module = parse(
      ".version 9.0\n.target sm_100a\n.address_size 64\n.extern .shared .b8 shared[];\n"
      ".visible .entry k(.param .u32 n)\n{\n.reg .pred %p<4>; .reg .b32 %r<40>; .reg .b64 %rd<20>;\n" +
      body + "\n}\n");
  if (!module) FAIL(module.error().text());
  return *module;
}

// The value of the register that the last instruction reads.
AbstractValue last_value(const std::string& body) {
  const Module module = kernel(body);
  const Function& function = module.functions.back();
  return RegisterValues(function).of(function.instructions.back().operands.back());
}

}  // namespace

TEST_CASE("constants are folded through integer instructions") {
  const auto constant = [](const std::string& body) { return last_value(body).constant(); };
  CHECK(constant("mov.u32 %r1, 7; mov.u32 %r2, %r1;") == 7u);
  CHECK(constant("mov.u32 %r1, 7; add.s32 %r2, %r1, -8; mov.u32 %r3, %r2;") == 0xffffffffu);
  CHECK(constant("mov.u32 %r1, -1; cvt.u64.u32 %rd1, %r1; mov.u64 %rd2, %rd1;") == 0xffffffffu);
  CHECK(constant("mov.u32 %r1, -1; cvt.s64.s32 %rd1, %r1; mov.u64 %rd2, %rd1;") == ~std::uint64_t{0});
  CHECK(constant("mov.u32 %r1, 5; mad.lo.s32 %r2, %r1, 3, %r1; shl.b32 %r3, %r2, 4; mov.u32 %r4, %r3;") == 320u);
  CHECK(constant("mov.u32 %r1, 1; mov.u32 %r2, 2; mov.b64 %rd1, {%r1, %r2}; mov.u64 %rd2, %rd1;") == 0x200000001u);
  CHECK(constant("mov.u64 %rd1, 0x200000001; mov.b64 {%r1, %r2}, %rd1; mov.u32 %r3, %r2;") == 2u);
  CHECK(constant("mov.u32 %r1, 4; @%p1 mov.u32 %r1, 4; mov.u32 %r2, %r1;") == 4u);
  CHECK_FALSE(constant("mov.u32 %r1, 4; @%p1 mov.u32 %r1, 5; mov.u32 %r2, %r1;"));
  CHECK_FALSE(constant("ld.param.u32 %r1, [n]; mov.u32 %r2, %r1;"));
}

TEST_CASE("bits stay known where the value is not") {
  const AbstractValue value = last_value(
      "ld.param.u32 %r1, [n]; shr.u32 %r2, %r1, 4; and.b32 %r3, %r2, 16320; cvt.u64.u32 %rd1, %r3;"
      "or.b64 %rd2, %rd1, 4611756662049472514; mov.u64 %rd3, %rd2;");
  CHECK(value.ones == 4611756662049472514u);
  CHECK((value.zeros >> 14) == (~std::uint64_t{4611756662049472514u} >> 14));
  CHECK_FALSE(value.constant());
}

TEST_CASE("addresses are followed to their variable") {
  const auto exact = last_value("mov.u64 %rd1, shared; cvt.u32.u64 %r1, %rd1; add.s32 %r2, %r1, 96; mov.u32 %r3, %r2;");
  REQUIRE(exact.anchor);
  CHECK(exact.anchor->exact);
  CHECK(exact.anchor->offset == 96);
  const auto ring = last_value(
      "mov.u32 %r1, shared; add.s32 %r2, %r1, 512; mov.u32 %r5, 0;\n"
      "LOOP: mad.lo.s32 %r3, %r5, 640, %r2; add.s32 %r5, %r5, 1; @%p1 bra LOOP; mov.u32 %r4, %r3;");
  REQUIRE(ring.anchor);
  CHECK_FALSE(ring.anchor->exact);
  CHECK(ring.anchor->offset == 512);
  const auto rising = last_value("mov.u32 %r1, shared; LOOP: add.s32 %r1, %r1, 16; @%p1 bra LOOP; mov.u32 %r2, %r1;");
  REQUIRE(rising.anchor);
  CHECK(rising.anchor->offset == 0);
  // A pointer that only goes down has no lower end: it is given up, in bounded time.
  CHECK_FALSE(last_value("mov.u32 %r1, shared; LOOP: add.s32 %r1, %r1, -16; @%p1 bra LOOP; mov.u32 %r2, %r1;").anchor);
}

TEST_CASE("reachability and what every path passes") {
  const Module module = kernel(
      "@%p1 bra ELSE; mov.u32 %r1, 1; bra JOIN;\n"        // 0 1 2
      "ELSE: mov.u32 %r1, 2; @%p2 bra ELSE;\n"            // 3 4
      "JOIN: mov.u32 %r2, %r1; @%p3 ret; trap;");         // 5 6 7
  const ControlFlow flow(module.functions.back());
  REQUIRE(flow.num_nodes() == 9);
  const auto all = [](std::uint32_t) { return false; };
  CHECK(flow.reachable(3, all)[3]);
  CHECK_FALSE(flow.reachable(1, all)[3]);
  CHECK_FALSE(flow.reachable(0, [](std::uint32_t node) { return node == 5; })[6]);
  const std::vector<bool> passed = flow.always_passed(0);
  CHECK(passed == std::vector<bool>{true, false, false, false, false, true, true, false, true});
  const Module endless = kernel("LOOP: bra LOOP;");
  CHECK(ControlFlow(endless.functions.back()).always_passed(0) == std::vector<bool>{false, false});
}
