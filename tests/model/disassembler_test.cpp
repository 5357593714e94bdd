#include <cstdlib>
#include <filesystem>

#include <catch2/catch.hpp>

#include "generator/model/disassembler.h"
#include "generator/model/sass_listing.h"
#include "tests/model/recorded_listing.h"

using namespace mlaindex;
using namespace mlaindex::model;
using Catch::Contains;

TEST_CASE("a cubin becomes a listing") {
  const char* configured = std::getenv("MLAINDEX_JIT_NVDISASM");
  const Result<Disassembler> disassembler = Disassembler::find(configured != nullptr ? configured : "");
  if (!disassembler) {
    WARN("skipped: " << disassembler.error().text());
    return;
  }
  const Result<std::string> text = disassembler->disassemble(recorded_file("tests/ptx/data/tile_sm_90a.cubin"));
  if (!text) FAIL(text.error().text());
  const Result<SassListing> listing = parse_sass(*text);
  REQUIRE(listing.ok());
  CHECK_FALSE(listing->kernel.empty());
  CHECK(base_opcode(listing->instructions.back()) == "NOP");  // padding

  const Result<std::string> damaged = disassembler->disassemble("not a cubin");
  REQUIRE_FALSE(damaged.ok());
  CHECK(damaged.error().code == ErrorCode::compile_failed);
  CHECK_THAT(damaged.error().message, Contains("nvdisasm ended with status"));
}

TEST_CASE("a disassembler that is not there") {
  const Result<Disassembler> disassembler = Disassembler::find("/nowhere/nvdisasm");
  REQUIRE_FALSE(disassembler.ok());
  CHECK(disassembler.error().code == ErrorCode::no_nvrtc);
  CHECK_THAT(disassembler.error().message, Contains("/nowhere/nvdisasm"));
  CHECK_THAT(disassembler.error().hint, Contains("nvdisasm"));
}

TEST_CASE("a disassembler that misbehaves leaves an error and no files") {
  const std::filesystem::path folder = std::filesystem::path(MLAINDEX_BINARY_DIR) / "disassembler_test";
  std::filesystem::create_directories(folder);
  REQUIRE(setenv("TMPDIR", folder.c_str(), 1) == 0);
  const Result<std::string> failing = Disassembler::find("/bin/false")->disassemble("cubin");
  REQUIRE_FALSE(failing.ok());
  CHECK(failing.error().code == ErrorCode::compile_failed);
  CHECK(std::filesystem::is_empty(folder));
  REQUIRE(setenv("TMPDIR", (folder / "missing").c_str(), 1) == 0);
  CHECK_THAT(Disassembler::find("/bin/true")->disassemble("cubin").error().message, Contains("temporary folder"));
  unsetenv("TMPDIR");
}
