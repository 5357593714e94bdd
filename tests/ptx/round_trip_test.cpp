#include <catch2/catch.hpp>

#include "generator/ptx/parser.h"
#include "generator/ptx/printer.h"
#include "tests/ptx/test_data.h"

using namespace mlaindex;
using namespace mlaindex::ptx;

TEST_CASE("parse(print(m)) == m, and printing again gives the same text") {
  for (const char* file : {"forms.ptx", "debug_sm_90a.ptx", "pipeline_sm_90a.ptx", "pipeline_sm_100a.ptx"}) {
    INFO(file);
    const Result<Module> module = parse(test_data(file), file);
    REQUIRE(module.ok());
    const std::string text = print(*module);
    const Result<Module> again = parse(text, "printed");
    if (!again) FAIL(again.error().text());
    CHECK(*again == *module);
    CHECK(print(*again) == text);
  }
}

TEST_CASE("a change of any part makes modules unequal") {
  const Module original = parse(test_data("pipeline_sm_100a.ptx")).value();
  const auto changed = [&](auto change) {
    Module copy = original;
    change(copy.functions.front());
    return !(copy == original);
  };
  CHECK(changed([](Function& f) { f.instructions[5].opcode.modifiers[0] += "x"; }));
  CHECK(changed([](Function& f) { f.instructions[5].operands.pop_back(); }));
  CHECK(changed([](Function& f) { f.labels[0].instruction += 1; }));
  CHECK(changed([](Function& f) { f.registers[3].type = ScalarType::pred; }));
  CHECK(changed([](Function& f) { f.performance.pop_back(); }));
  CHECK(changed([](Function& f) { f.parameters[0].alignment = 64; }));
  CHECK_FALSE(changed([](Function& f) { f.instructions[5].location.line += 1; }));
}

TEST_CASE("one instruction prints as written") {
  const Module module = parse(test_data("forms.ptx")).value();
  const Function& forms = module.functions.back();
  std::vector<std::string> lines;
  for (const Instruction& instruction : forms.instructions)
    lines.push_back(print(instruction, forms, module));
  CHECK_THAT(lines, Catch::VectorContains(std::string("@!guard bra DONE;")));
  CHECK_THAT(lines, Catch::VectorContains(std::string(
                        "shfl.sync.idx.b32 %r4|%p2, %r1, 0, 31, 0xffffffff;")));
  CHECK_THAT(lines, Catch::VectorContains(std::string(
                        "tcgen05.mma.cta_group::1.kind::f8f6f4 [%r2], %rd4, %rd5, 136314896, "
                        "{%r5, %r6, %r7, %r8}, %p1;")));
  CHECK_THAT(lines, Catch::VectorContains(std::string("call.uni (retval0), twice, (param0);")));
  CHECK_THAT(lines, Catch::VectorContains(std::string("ld.param.b32 %r9, [retval0+0];")));
}
