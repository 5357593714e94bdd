#include <catch2/catch.hpp>

#include "generator/ptx/parser.h"
#include "tests/ptx/test_data.h"

using namespace mlaindex;
using namespace mlaindex::ptx;

namespace {

Module parsed(const std::string& text) {
  Result<Module> module = parse(text);
  if (!module) FAIL(module.error().text());
  return std::move(module).value();
}

const std::string kPreamble = ".version 9.0\n.target sm_100a\n.address_size 64\n";

// A module whose only entry has the given body.
Module parsed_body(const std::string& body) {
  return parsed(kPreamble + ".visible .entry k() {\n" + body + "\n}\n");
}

std::string error_of(const std::string& body) {
  const Result<Module> module = parse(kPreamble + ".visible .entry k() {\n" + body + "\n}\n");
  REQUIRE_FALSE(module.ok());
  CHECK(module.error().code == ErrorCode::invalid_file);
  return module.error().message;
}

const Function& entry(const Module& module) { return module.functions.back(); }

std::string register_name(const Function& function, const Operand& operand) {
  const RegisterRef* reg = operand.as<RegisterRef>();
  REQUIRE(reg != nullptr);
  return function.registers.at(reg->index).name;
}

}  // namespace

TEST_CASE("preamble and declarations") {
  const Module module = parsed(test_data("forms.ptx"));
  CHECK(module.version == "9.0");
  CHECK(module.targets == std::vector<std::string>{"sm_100a", "texmode_independent"});
  CHECK(module.address_size == 64);
  REQUIRE(module.variables.size() == 7);

  const Variable& table = module.variables[2];
  CHECK(table.name == "table");
  CHECK(table.linkage == "visible");
  CHECK(table.size_bytes() == 24);
  REQUIRE(table.initialisers.size() == 3);
  CHECK(table.initialisers[2].is_generic);
  CHECK(table.initialisers[2].text == "text");
  CHECK(table.initialisers[2].offset == 2);

  CHECK(module.variables[3].space == StateSpace::constant);
  CHECK(module.variables[3].initialisers[1].text == "-1.5");
  CHECK(module.variables[4].vector_width == 4);
  CHECK(module.variables[4].size_bytes() == 16);
  CHECK(module.variables[5].effective_alignment() == 4);
  CHECK(module.variables[6].linkage == "extern");
  CHECK(module.variables[6].size_bytes() == 0);

  REQUIRE(module.functions.size() == 3);
  CHECK_FALSE(module.functions[0].has_body);
  CHECK(module.functions[1].results.at(0).name == "result");
  const Function& forms = module.functions[2];
  CHECK(forms.is_entry);
  CHECK(forms.parameters.at(0).pointer->alignment == 16);
  CHECK(forms.parameters.at(0).pointer->space == StateSpace::global);
  CHECK(forms.parameters.at(1).size_bytes() == 128);
  REQUIRE(forms.find_performance("reqnctapercluster") != nullptr);
  CHECK(forms.find_performance("reqnctapercluster")->arguments == std::vector<std::string>{"2", "1", "1"});
  CHECK(forms.find_performance("maxnreg") == nullptr);
}

TEST_CASE("opcodes are split into a name and modifiers") {
  const Module module = parsed_body(
      ".reg .b32 %r<3>; .reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%r0], %r1;\n"
      "tcgen05.ld.sync.aligned.32x32b.x2.b32{%r0, %r1},[%r2];\n"
      "ld.shared .u32 %r0, [%r1];");
  const Function& k = entry(module);
  CHECK(k.instructions[0].opcode.name == "mbarrier");
  CHECK(k.instructions[0].opcode.modifiers ==
        std::vector<std::string>{"try_wait", "parity", "shared::cta", "b64"});
  CHECK(k.instructions[1].opcode.text() == "tcgen05.ld.sync.aligned.32x32b.x2.b32");
  CHECK(k.instructions[1].operands.size() == 2);
  CHECK(k.instructions[2].opcode.text() == "ld.shared.u32");
  CHECK(k.instructions[2].opcode.has("u32"));
  CHECK_FALSE(k.instructions[2].opcode.has("u3"));
}

TEST_CASE("every kind of operand") {
  const Module module = parsed_body(
      ".reg .b32 %r<4>; .reg .b64 d; .reg .pred p, q; .shared .b8 s[16];\n"
      "shfl.sync.idx.b32 %r0|p, -4, 0x1f, 0f3F800000;\n"
      "elect.sync _|q, WARP_SZ;\n"
      "mov.b64 {%r1, _}, d;\n"
      "op [%r1+-32], [s+4], [d, {%r0, -1}], [16];\n"
      "op %tid.x, s+8, !p, _;");
  const Function& k = entry(module);

  const auto& shfl = k.instructions[0].operands;
  CHECK(k.registers[shfl[0].as<RegisterPair>()->second].type == ScalarType::pred);
  CHECK(shfl[1].as<IntegerLiteral>()->value == 0xfffffffffffffffcull);
  CHECK(shfl[1].as<IntegerLiteral>()->text == "-4");
  CHECK(shfl[2].as<IntegerLiteral>()->value == 31);
  CHECK(shfl[3].as<FloatLiteral>()->bits == 0x3F800000);
  CHECK(shfl[3].as<FloatLiteral>()->is_f32);

  CHECK(k.instructions[1].operands[0].as<RegisterPair>()->first == kNoIndex);
  CHECK(k.instructions[1].operands[1].as<SpecialRegister>()->name == "WARP_SZ");

  const auto* list = k.instructions[2].operands[0].as<OperandList>();
  REQUIRE(list != nullptr);
  CHECK(register_name(k, list->elements[0]) == "%r1");
  CHECK(list->elements[1].as<Sink>() != nullptr);

  const auto& addresses = k.instructions[3].operands;
  CHECK(addresses[0].as<Address>()->offset == -32);
  CHECK(std::get<SymbolRef>(addresses[1].as<Address>()->base).table == SymbolTable::local_variable);
  CHECK(addresses[1].as<Address>()->offset == 4);
  CHECK(addresses[2].as<Address>()->coordinates.size() == 2);
  CHECK(std::get<IntegerLiteral>(addresses[3].as<Address>()->base).value == 16);

  const auto& rest = k.instructions[4].operands;
  CHECK(rest[0].as<SpecialRegister>()->name == "%tid.x");
  CHECK(rest[1].as<SymbolRef>()->offset == 8);
  CHECK(rest[2].negated);
  CHECK(rest[3].as<Sink>() != nullptr);
}

TEST_CASE("registers are numbered by first use, within their scope") {
  const Module module = parsed_body(
      ".reg .b32 %r<1000000>; .reg .f32 %f<2>;\n"
      "mov.b32 %r999999, 1;\n"
      "{ .reg .pred %r5; mov.pred %r5, %r5; }\n"
      "{ .reg .b64 %r5; mov.b64 %r5, 0; mov.f32 %f1, 0f00000000; }\n"
      "mov.b32 %r5, %r999999;");
  const Function& k = entry(module);
  REQUIRE(k.registers.size() == 5);
  CHECK(k.registers[0].name == "%r999999");
  CHECK(k.registers[1].type == ScalarType::pred);
  CHECK(k.registers[2].type == ScalarType::b64);
  CHECK(k.registers[3].type == ScalarType::f32);
  CHECK(k.registers[3].scope == 0);
  CHECK(k.registers[4].type == ScalarType::b32);
  CHECK(k.instructions.back().operands[1].as<RegisterRef>()->index == 0);
}

TEST_CASE("labels lead to instructions; scopes hide them") {
  const Module module = parsed_body(
      ".reg .pred p;\n"
      "bra END;\n"
      "{ WAIT: @p bra DONE; bra WAIT; DONE: }\n"
      "{ WAIT: @!p bra DONE; bra WAIT; DONE: }\n"
      "END:");
  const Function& k = entry(module);
  REQUIRE(k.instructions.size() == 5);
  const auto target = [&](std::size_t instruction) {
    return k.labels.at(k.instructions[instruction].operands.at(0).as<LabelRef>()->index).instruction;
  };
  CHECK(target(0) == 5);  // the end
  CHECK(target(1) == 3);
  CHECK(target(2) == 1);
  CHECK(target(3) == 5);
  CHECK(target(4) == 3);
  CHECK_FALSE(k.instructions[1].guard->negated);
  CHECK(k.instructions[3].guard->negated);
}

TEST_CASE("positions are those of the text") {
  const Module module = parsed_body(".reg .b32 %r<2>;\n  mov.b32 %r0, 1; mov.b32 %r1, 2;");
  const Function& k = entry(module);
  CHECK(k.instructions[0].location.line == 6);
  CHECK(k.instructions[0].location.column == 3);
  CHECK(k.instructions[1].location.column == 19);
}

TEST_CASE("errors carry line, column and a caret") {
  const Result<Module> module =
      parse(kPreamble + ".visible .entry k() {\n  mov.b32 %r1, 4;\n}\n", "kernel.ptx");
  REQUIRE_FALSE(module.ok());
  CHECK(module.error().message ==
        "kernel.ptx:5:11: error: '%r1' is not a declared register\n"
        "  mov.b32 %r1, 4;\n"
        "          ^");
}

TEST_CASE("faulty text is refused with its reason") {
  CHECK_THAT(error_of("bra NOWHERE;"), Catch::Contains("'NOWHERE' is not declared"));
  CHECK_THAT(error_of("{ INSIDE: } bra INSIDE;"), Catch::Contains("'INSIDE' is not declared"));
  CHECK_THAT(error_of(".reg .b32 a, a;"), Catch::Contains("already declared"));
  CHECK_THAT(error_of(".reg .b32 %r<2>; mov.b32 %r2, 0;"), Catch::Contains("'%r2' is not a declared"));
  CHECK_THAT(error_of(".reg .b32 %r<2>; mov.b32 %r01, 0;"), Catch::Contains("'%r01' is not a declared"));
  CHECK_THAT(error_of(".reg .v2 .b32 a;"), Catch::Contains("not a type of registers"));
  CHECK_THAT(error_of(".reg .b32 a; mov.b32 a, 0x1g;"), Catch::Contains("malformed integer"));
  CHECK_THAT(error_of(".reg .b32 a; mov.b32 a, 0f123;"), Catch::Contains("malformed number"));
  CHECK_THAT(error_of(".reg .b32 a; mov.b32 a, 99999999999999999999;"), Catch::Contains("malformed integer"));
  CHECK_THAT(error_of(".reg .b32 a; mov.b32 a 1;"), Catch::Contains("expected ';', found '1'"));
  CHECK_THAT(error_of("@p bra L; L:"), Catch::Contains("'p' is not a declared register"));
  CHECK_THAT(error_of("ret"), Catch::Contains("expected an operand, found '}'"));
  CHECK_THAT(error_of("{"), Catch::Contains("is not closed"));
  CHECK_THAT(error_of(".bogus 1;"), Catch::Contains("unknown directive '.bogus'"));
  CHECK_THAT(error_of("mov.b32 \x01;"), Catch::Contains("expected an operand"));
  CHECK_THAT(error_of(".shared .align 3 .b8 a[4];"), Catch::Contains("not a power of two"));
  CHECK_THAT(error_of(".shared .b8 a[1099511627776][4];"), Catch::Contains("larger than any memory"));
  CHECK_THAT(error_of(".shared .b8 a = {{1}};"), Catch::Contains("nested initialisers"));
}

TEST_CASE("what is no module is refused") {
  for (const std::string& text :
       {std::string(), std::string("\0\0", 2), std::string("hello"), std::string(".version 9"),
        std::string(".version 9.0 .target"), kPreamble + "garbage", kPreamble + ".visible",
        kPreamble + ".entry k", kPreamble + ".section .debug {", kPreamble + "/* open",
        kPreamble + ".file 1 \"open", kPreamble + ".global .u32 a; .global .u32 a;"}) {
    INFO(text);
    const bool unclosed_file = text.find(".file") != std::string::npos;
    const bool comment = text.find("/*") != std::string::npos;
    CHECK(parse(text).ok() == (unclosed_file || comment));
  }
}

TEST_CASE("a trailing NUL, as in the compiler's buffer, is accepted") {
  CHECK(parse(kPreamble + std::string(1, '\0')).ok());
}
