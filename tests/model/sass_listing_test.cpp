#include <catch2/catch.hpp>

#include "generator/model/sass_listing.h"
#include "tests/model/recorded_listing.h"

using namespace mlaindex;
using namespace mlaindex::model;
using Catch::Contains;

namespace {

const char* const small = R"(
	.target	sm_100a
//--------------------- .text.first --------------------------
        .global         first
first:
.text.first:
        /*0000*/                   LDC R1, c[0x0][0x37c] ;            /* 0x0000370000017b82 */
                                                                       /* 0x000fe20000000800 */
        /*0010*/               @P0 BRA `(.L_x_1) ;
        /*0020*/                   BRA.U UP0, `(.L_x_0) ;
.L_x_0:
        /*0030*/              @!P1 LDG.E.64 R2, desc[UR4][R2.64+0x20] ;
        /*0040*/                   BRX R2 -0x50            (*"BRANCH_TARGETS .L_x_0,.L_x_1"*);
.L_x_1:
        /*0050*/               @P2 EXIT ;
        /*0060*/                   BSSY B0, `(.L_x_2) ;
.L_x_2:
        /*0070*/                   EXIT ;
.L_x_3:
.text.second:
        /*0000*/                   NOP ;
)";

using Indices = std::vector<std::size_t>;

Error error_of(const std::string& text) {
  const Result<SassListing> listing = parse_sass(text);
  REQUIRE_FALSE(listing.ok());
  return listing.error();
}

}  // namespace

TEST_CASE("a listing has the instructions of its first kernel, with predicates and targets") {
  const Result<SassListing> listing = parse_sass(small);
  REQUIRE(listing.ok());
  CHECK(listing->kernel == "first");
  const auto& instructions = listing->instructions;
  REQUIRE(instructions.size() == 8);
  CHECK(instructions[0].opcode == "LDC");
  CHECK(instructions[0].operands == "R1, c[0x0][0x37c]");
  CHECK(instructions[0].predicate.empty());
  CHECK(instructions[3].predicate == "@!P1");
  CHECK(instructions[3].opcode == "LDG.E.64");
  CHECK(base_opcode(instructions[3]) == "LDG");
  CHECK(instructions[3].address == 0x30);

  CHECK(instructions[1].targets == Indices{5});
  CHECK(instructions[2].targets == Indices{3});
  CHECK(instructions[4].targets == Indices{3, 5});
  CHECK(instructions[6].targets.empty());  // BSSY names a label and goes nowhere
}

TEST_CASE("nothing follows an unconditional branch or exit") {
  const Result<SassListing> listing = parse_sass(small);
  REQUIRE(listing.ok());
  std::vector<bool> follows;
  for (const SassInstruction& instruction : listing->instructions) follows.push_back(instruction.falls_through);
  CHECK(follows == std::vector<bool>{true, true, true, true, false, true, true, false});
}

TEST_CASE("recorded listings are read to their end") {
  for (const auto& [name, instructions] : {std::pair{"sm_90a_h64.sass", 346}, {"sm_100a_h64.sass", 377}}) {
    CAPTURE(name);
    const Result<SassListing> listing = parse_sass(recorded_listing(name));
    REQUIRE(listing.ok());
    CHECK(listing->instructions.size() == static_cast<std::size_t>(instructions));
  }
}

TEST_CASE("what is no listing is refused") {
  CHECK(error_of("").code == ErrorCode::invalid_file);
  CHECK_THAT(error_of("nvdisasm fatal: not a cubin\n").hint, Contains("nvdisasm -c"));
  CHECK_THAT(error_of(".text.k:\n no instruction\n").message, Contains("without an instruction"));

  const Error lost = error_of(".text.k:\n /*0010*/ BRA `(.L_x_9) ;\n /*0020*/ EXIT ;\n");
  CHECK(lost.code == ErrorCode::invalid_file);
  CHECK_THAT(lost.message, Contains("0x10") && Contains(".L_x_9"));
  // A label behind the last instruction is no place to go to.
  CHECK(error_of(".text.k:\n /*0010*/ BRA `(.L_x_9) ;\n.L_x_9:\n").code == ErrorCode::invalid_file);
  // An indirect branch whose targets are not said.
  CHECK(error_of(".text.k:\n /*0010*/ BRX R2 -0x20 ;\n").code == ErrorCode::invalid_file);
}
