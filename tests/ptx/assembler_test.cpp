#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>

#include "generator/ptx/assembler.h"
#include "generator/ptx/parser.h"
#include "generator/ptx/printer.h"
#include "generator/ptx/process.h"
#include "tests/ptx/machine_code.h"
#include "tests/ptx/test_data.h"

using namespace mlaindex;
using namespace mlaindex::ptx;
using namespace std::chrono_literals;

TEST_CASE("printed text assembles to the same machine code") {
  const Result<Assembler> assembler = Assembler::find();
  if (!assembler) {
    WARN("skipped: " << assembler.error().text());
    return;
  }
  for (const auto& [file, arch, options] :
       {std::tuple{"forms.ptx", "sm_100a", std::vector<std::string>{}},
        std::tuple{"debug_sm_90a.ptx", "sm_90a", std::vector<std::string>{"-g"}},
        std::tuple{"pipeline_sm_90a.ptx", "sm_90a", std::vector<std::string>{"-O3"}},
        std::tuple{"pipeline_sm_100a.ptx", "sm_100a", std::vector<std::string>{"-O3"}}}) {
    INFO(file);
    const std::string original = test_data(file);
    const std::string printed = print(parse(original).value());
    const Result<std::string> before = assembler->assemble(original, arch, options);
    const Result<std::string> after = assembler->assemble(printed, arch, options);
    if (!before) FAIL(before.error().text());
    if (!after) FAIL(after.error().text());
    CHECK_FALSE(machine_code(*before).empty());
    CHECK(machine_code(*before) == machine_code(*after));
  }
}

TEST_CASE("the assembler's complaint reaches the caller") {
  const Result<Assembler> assembler = Assembler::find();
  if (!assembler) {
    WARN("skipped: " << assembler.error().text());
    return;
  }
  const Result<std::string> cubin = assembler->assemble(".version 9.0\n.target sm_90\nnonsense\n", "sm_90");
  REQUIRE_FALSE(cubin.ok());
  CHECK(cubin.error().code == ErrorCode::compile_failed);
  CHECK_THAT(cubin.error().message, Catch::Contains("syntax error"));
}

TEST_CASE("an assembler that is not there") {
  const Result<Assembler> assembler = Assembler::find("/nowhere/ptxas");
  REQUIRE_FALSE(assembler.ok());
  CHECK(assembler.error().code == ErrorCode::no_nvrtc);
  CHECK_THAT(assembler.error().message, Catch::Contains("/nowhere/ptxas"));
}

TEST_CASE("an assembler that misbehaves leaves an error and no files") {
  const std::filesystem::path folder = std::filesystem::path(MLAINDEX_BINARY_DIR) / "assembler_test";
  std::filesystem::create_directories(folder);
  REQUIRE(setenv("TMPDIR", folder.c_str(), 1) == 0);
  const Result<std::string> failing = Assembler::find("/bin/false")->assemble("", "sm_90");
  REQUIRE_FALSE(failing.ok());
  CHECK(failing.error().code == ErrorCode::compile_failed);
  const Result<std::string> idle = Assembler::find("/bin/true")->assemble("", "sm_90");
  REQUIRE_FALSE(idle.ok());
  CHECK_THAT(idle.error().message, Catch::Contains("wrote no cubin"));
  CHECK(std::filesystem::is_empty(folder));
  REQUIRE(setenv("TMPDIR", (folder / "missing").c_str(), 1) == 0);
  CHECK_THAT(Assembler::find("/bin/true")->assemble("", "sm_90").error().message,
             Catch::Contains("temporary folder"));
  unsetenv("TMPDIR");
}

TEST_CASE("processes: exit status, signals, time limit") {
  const auto run = [](std::vector<std::string> argv, std::chrono::milliseconds timeout = 10s) {
    return run_process(argv, "/dev/null", timeout);
  };
  CHECK(run({"/bin/sh", "-c", "exit 7"}).value() == 7);
  CHECK_THAT(run({"/bin/sh", "-c", "kill -9 $$"}).error().message, Catch::Contains("signal 9"));
  CHECK_THAT(run({"/nowhere/program"}).error().message, Catch::Contains("cannot be started"));
  const auto start = std::chrono::steady_clock::now();
  CHECK_THAT(run({"/bin/sh", "-c", "sleep 30"}, 100ms).error().message, Catch::Contains("did not end"));
  CHECK(std::chrono::steady_clock::now() - start < 10s);
}
