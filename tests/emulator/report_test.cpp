// What a run reports besides faults, and launches that cannot be.
#include "tests/emulator/ptx_program.h"

#include <nlohmann/json.hpp>

using namespace mlaindex;
using namespace mlaindex::emulator;

TEST_CASE("A run counts instructions and says where warps waited") {
  PtxProgram program;
  program.threads = 64;
  program.options.trace = true;
  program.body = "mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 32; @%p1 bra WAIT; mov.u32 %r9, 500; SPIN: sub.u32 %r9, %r9, 1; setp.ne.u32 %p5, %r9, 0;"
                 " @%p5 bra SPIN; WAIT: bar.sync 0;";
  const RunReport report = program.run();
  REQUIRE(report.clean());
  CHECK(report.instructions_by_opcode.at("sub.u32") == 500);
  REQUIRE_FALSE(report.stalls.empty());
  CHECK(report.stalls[0].role == "warp 0");
  CHECK(report.stalls[0].waits_for.find("named barrier") == 0);
  CHECK(report.text().find("longest stalls") != std::string::npos);
  const auto trace = nlohmann::json::parse(chrome_trace(report));
  bool waited = false;
  for (const auto& event : trace.at("traceEvents"))
    waited = waited || (event.at("ph") == "X" && event.at("dur").get<int>() > 0);
  CHECK(waited);
}

TEST_CASE("Launches that cannot be are refused with the rule") {
  PtxProgram program;
  program.body = "";
  program.directives = ".reqntid 64, 1, 1";
  const auto module = ptx::parse(program.text(), "test.ptx");
  REQUIRE(module.ok());
  GlobalMemory memory;
  LaunchSpec launch;
  launch.module = &*module;
  launch.memory = &memory;
  launch.entry = "nothing";
  CHECK(emulator::run(launch).error().hint.find("k") != std::string::npos);
  launch.entry = "k";
  launch.block.x = 64;
  CHECK(emulator::run(launch).error().message.find("parameters") != std::string::npos);
  launch.params.resize(8);
  CHECK(emulator::run(launch).ok());
  launch.block.x = 32;
  CHECK(emulator::run(launch).error().code == ErrorCode::invalid_argument);
  launch.block.x = 64;
  launch.dynamic_shared_bytes = 232464;
  CHECK(emulator::run(launch).error().message.find("shared memory") != std::string::npos);
  launch.dynamic_shared_bytes = 0;
  launch.cluster.x = 3;
  CHECK(emulator::run(launch).error().message.find("grid") != std::string::npos);
}
