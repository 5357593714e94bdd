#include <catch2/catch.hpp>

#include "generator/model/hot_loop.h"
#include "tests/model/recorded_listing.h"

using namespace mlaindex;
using namespace mlaindex::model;

namespace {

// One instruction a line, without addresses; a line with a colon is a label.
SassListing listing_of(const std::vector<std::string>& lines) {
  std::string text = ".text.kernel:\n";
  int address = 0;
  for (const std::string& line : lines) {
    text += line.ends_with(':') ? line + "\n" : "/*" + std::to_string(address += 10) + "*/ " + line + " ;\n";
  }
  const Result<SassListing> listing = parse_sass(text);
  REQUIRE(listing.ok());
  return *listing;
}

std::vector<std::string> opcodes(const SassListing& listing, const std::vector<std::size_t>& pass) {
  std::vector<std::string> result;
  for (const std::size_t index : pass) result.push_back(listing.instructions[index].opcode);
  return result;
}

using Words = std::vector<std::string>;

std::vector<std::string> repeated(int count, const std::string& line) { return std::vector<std::string>(count, line); }

void append(std::vector<std::string>& lines, const std::vector<std::string>& more) {
  lines.insert(lines.end(), more.begin(), more.end());
}

}  // namespace

TEST_CASE("loops are what goes back to an instruction that all ways pass") {
  const SassListing listing = listing_of({
      "MOV R0, R1",
      ".outer:", "LDG R2, [R3]",
      ".inner:", "FADD R4, R4, R2", "@P0 BRA `(.inner)",
      "@P1 BRA `(.outer)",
      "EXIT"});
  const std::vector<Loop> loops = natural_loops(listing);
  REQUIRE(loops.size() == 2);
  CHECK(loops[0].header == 1);
  CHECK(loops[0].latches == std::vector<std::size_t>{4});
  CHECK(loops[0].body == std::vector<bool>{false, true, true, true, true, false});
  CHECK(loops[1].header == 2);
  CHECK(loops[1].body == std::vector<bool>{false, false, true, true, false, false});
}

TEST_CASE("a jump into the middle of a cycle makes no loop of it") {
  const SassListing listing = listing_of({
      "@P0 BRA `(.second)",
      ".first:", "FADD R0, R0, R1",
      ".second:", "FADD R0, R0, R2", "@P1 BRA `(.first)",
      "EXIT"});
  CHECK(natural_loops(listing).empty());
}

TEST_CASE("code that nothing reaches has no loops") {
  const SassListing listing = listing_of({"EXIT", ".x:", "FADD R0, R0, R1", "BRA `(.x)"});
  CHECK(natural_loops(listing).empty());
}

TEST_CASE("a straight pass leaves out repeated waits and the way round the fold") {
  const SassListing listing = listing_of({
      ".tile:", "SYNCS.TRYWAIT P0, [UR4], R0", "@!P0 BRA `(.again)",
      ".ready:", "@P1 BRA `(.idle)",
      "FMNMX R1, RZ, R1, !PT", "FFMA R2, R1, R3, R2", "BRA `(.next)",
      ".idle:", "NOP",
      ".next:", "@P2 BRA `(.tile)",
      "EXIT",
      ".again:", "SYNCS.TRYWAIT P0, [UR4], R0", "@!P0 BRA `(.again)", "BRA `(.ready)"});
  const std::vector<Loop> loops = natural_loops(listing);
  REQUIRE(loops.size() == 2);
  CHECK(loops[0].body[9]);  // the repeated wait belongs to the loop
  CHECK(opcodes(listing, straight_pass(listing, loops[0])) ==
        Words{"SYNCS.TRYWAIT", "BRA", "BRA", "FMNMX", "FFMA", "BRA", "BRA"});
}

TEST_CASE("of two ways that fold the same, the shorter one counts") {
  const SassListing listing = listing_of({
      ".tile:", "FFMA R2, R1, R3, R2", "@P1 BRA `(.edge)", "LDG R5, [R6]", "BRA `(.next)",
      ".edge:", "ISETP P0, R1, R2", "ISETP P1, R1, R2", "@!P0 LDG R5, [R6]",
      ".next:", "@P2 BRA `(.tile)", "EXIT"});
  const std::vector<Loop> loops = natural_loops(listing);
  REQUIRE(loops.size() == 1);
  CHECK(opcodes(listing, straight_pass(listing, loops[0])) == Words{"FFMA", "BRA", "LDG", "BRA", "BRA"});
}

TEST_CASE("a loop of two latches ends where more is folded") {
  const SassListing listing = listing_of({
      ".tile:", "FFMA R2, R1, R3, R2", "@P1 BRA `(.tile)", "FFMA R2, R1, R3, R2", "@P2 BRA `(.tile)", "EXIT"});
  const std::vector<Loop> loops = natural_loops(listing);
  REQUIRE(loops.size() == 1);
  CHECK(loops[0].latches.size() == 2);
  CHECK(straight_pass(listing, loops[0]).size() == 4);
}

TEST_CASE("elements of multiply-adds, single and packed, and of a bf16 fold") {
  const SassListing listing = listing_of({"FFMA R0, R1, R2, R0", "FFMA2 R0, R2.F32x2, R4.F32x2, R0", "F2FP.RELU.BF16.F32.PACK_AB R0, R1, R2",
                                          "F2FP.BF16.F32.PACK_AB R0, RZ, R2", "HFMA2.BF16_V2 R0, R1, R2, R0",
                                          "FADD2 R0, R2.F32x2, R4.F32x2", "EXIT"});
  std::vector<int> elements;
  for (const SassInstruction& instruction : listing.instructions) elements.push_back(folded_elements(instruction));
  CHECK(elements == std::vector<int>{1, 2, 2, 0, 0, 0, 0});
}

TEST_CASE("the math loop is told from producers, schedulers and outer loops") {
  std::vector<std::string> lines{".load:", "SYNCS.TRYWAIT P0, [UR4], R0", "UTMALDG.2D [UR16], [UR8]", "@P0 BRA `(.load)",
                                 ".block:", "LDS R0, [R1]"};
  append(lines, repeated(8, "FFMA R9, R9, R9, R9"));  // too few to be a fold
  append(lines, {".few:", "FFMA R9, R9, R9, R9", "@P1 BRA `(.few)", ".tile:", "LDG R5, [R6]"});
  append(lines, repeated(32, "FFMA2 R0, R2.F32x2, R4.F32x2, R0"));
  append(lines, {"@P2 BRA `(.tile)", "@P3 BRA `(.block)", "EXIT"});
  const SassListing listing = listing_of(lines);
  CHECK(natural_loops(listing).size() == 4);
  const auto pass = math_pass(listing);
  REQUIRE(pass.ok());
  CHECK(pass->size() == 34);
  CHECK(listing.instructions[pass->front()].opcode == "LDG");
}

TEST_CASE("a kernel without a fold has no math loop") {
  const SassListing listing = listing_of({".load:", "UTMALDG.2D [UR16], [UR8]", "@P0 BRA `(.load)", "EXIT"});
  const auto pass = math_pass(listing);
  REQUIRE_FALSE(pass.ok());
  CHECK(pass.error().code == ErrorCode::invalid_file);
  CHECK_THAT(pass.error().message, Catch::Contains("no loop of kernel"));
}

TEST_CASE("an indirect branch reaches the loops behind it") {
  std::vector<std::string> lines{"BRX R2 -0x20 (*\"BRANCH_TARGETS .load,.tile\"*)", ".load:", "NOP", "EXIT", ".tile:"};
  append(lines, repeated(32, "FFMA R0, R1, R2, R0"));
  append(lines, {"@P2 BRA `(.tile)", "EXIT"});
  CHECK(math_pass(listing_of(lines)).ok());
}

TEST_CASE("math passes of recorded kernels") {
  for (const auto& [name, instructions] : {std::pair{"sm_90a_h64.sass", 322}, {"sm_100a_h64.sass", 310}}) {
    CAPTURE(name);
    const Result<SassListing> listing = parse_sass(recorded_listing(name));
    REQUIRE(listing.ok());
    const auto pass = math_pass(*listing);
    REQUIRE(pass.ok());
    CHECK(pass->size() == static_cast<std::size_t>(instructions));
    int elements = 0;
    for (const std::size_t index : *pass) elements += folded_elements(listing->instructions[index]);
    CHECK(elements == (std::string(name).starts_with("sm_90a") ? 128 : 256));
  }
}
