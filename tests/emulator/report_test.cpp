// What a run reports besides faults, and launches that cannot be.
#include "tests/emulator/ptx_program.h"

#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "tests/chrome_trace.h"

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

namespace {

// One producer warp fills a slot by TMA as often as a consumer warp empties it.
PtxProgram ring_program(const std::vector<std::uint32_t>& tile) {
  PtxProgram program;
  program.target = "sm_90a";
  program.threads = 64;
  program.ctas = 2;
  program.shared = ".extern .shared .align 1024 .b8 smem[];";
  TensorMapParams map;
  map.address = reinterpret_cast<std::uintptr_t>(tile.data());
  map.rank = 2;
  map.dims = {32, 2};
  map.strides = {128};
  map.box = {32, 2};
  map.type = TensorMapType::u32;
  program.maps.push_back(map);
  program.inputs.push_back({tile.data(), 4 * tile.size()});
  program.options.trace = true;
  program.body = R"(
mov.u32 %r1, %tid.x; mov.u32 %r2, smem; add.u32 %r3, %r2, 4096; add.u32 %r4, %r2, 4104; mov.u32 %r9, 0; mov.b64 %rd4, map0; cvta.param.u64 %rd5, %rd4;
setp.ne.u32 %p1, %r1, 0; @%p1 bra READY;
mbarrier.init.shared::cta.b64 [%r3], 1; mbarrier.init.shared::cta.b64 [%r4], 1; fence.mbarrier_init.release.cluster;
READY: bar.sync 0;
setp.ge.u32 %p2, %r1, 32; @%p2 bra CONSUME;
setp.ne.u32 %p3, %r1, 0; @%p3 bra END;
FILL: xor.b32 %r5, %r9, 1; and.b32 %r5, %r5, 1;
EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], %r5; @!%p4 bra EMPTY;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 256;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd5, {0, 0}], [%r3];
add.u32 %r9, %r9, 1; setp.lt.u32 %p5, %r9, 3; @%p5 bra FILL; bra END;
CONSUME: setp.ne.u32 %p3, %r1, 32; @%p3 bra END;
DRAIN: and.b32 %r5, %r9, 1;
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r3], %r5; @!%p4 bra FULL;
mbarrier.arrive.shared::cta.b64 _, [%r4];
add.u32 %r9, %r9, 1; setp.lt.u32 %p5, %r9, 3; @%p5 bra DRAIN;
END:)";
  return program;
}

}  // namespace

TEST_CASE("The timeline is a Chrome trace with rows for warps, engines and barriers") {
  std::vector<std::uint32_t> tile(64, 1);
  PtxProgram program = ring_program(tile);
  program.dynamic_shared_bytes = 8192;
  program.warp_roles = {"producer", "consumer"};
  program.barriers = {{"full", 4096, 1}, {"empty", 4104, 1}};
  for (std::uint64_t seed : {0u, 1u, 2u, 7u}) {
    program.options.seed = seed;
    const RunReport report = program.run();
    INFO(report.text());
    REQUIRE(report.clean());
    const auto trace = nlohmann::json::parse(chrome_trace(report));
    CHECK(trace_problems(trace) == std::vector<std::string>{});
    const std::map<TraceRowId, std::string> names = trace_rows(trace);
    std::map<std::int64_t, std::string> processes;
    std::map<std::string, int> bars;
    for (const auto& event : trace.at("traceEvents")) {
      const TraceRowId row{event.at("pid"), event.at("tid")};
      if (event.at("ph") == "X") ++bars[event.at("cat").get<std::string>() + " " + names.at(row)];
      else if (event.at("name") == "process_name") processes[row.first] = event.at("args").at("name");
      else if (event.at("name") == "thread_sort_index") CHECK(event.at("args").at("sort_index") == row.second);
    }
    CHECK(processes == std::map<std::int64_t, std::string>{{0, "CTA 0"}, {16, "CTA 1"}});
    CHECK(bars["barrier full"] == 6);   // three phases in each of two CTAs
    CHECK(bars["barrier empty"] == 6);
    int loads = 0, waits = 0;
    for (const auto& [row, count] : bars) {
      if (row.starts_with("engine TMA load")) loads += count;
      if (row.starts_with("warp producer (warp 0)") || row.starts_with("warp consumer (warp 1)")) waits += count;
    }
    CHECK(loads == 6);
    CHECK(waits > 0);
  }
}

TEST_CASE("The timeline of a run that a fault stops has all up to the fault, what was going on, and the fault") {
  std::vector<std::uint32_t> tile(64, 1);
  PtxProgram program = ring_program(tile);
  program.ctas = 1;
  program.dynamic_shared_bytes = 8192;
  program.warp_roles = {"producer", "consumer"};
  program.barriers = {{"full", 4096, 1}, {"empty", 4104, 1}};
  const std::string release = "mbarrier.arrive.shared::cta.b64 _, [%r4];";
  struct Defect {
    std::string by, kind;
  };
  for (const Defect& defect : {Defect{"", "fault: deadlock"}, {"trap;", "fault: trap"}}) {
    PtxProgram changed = program;
    changed.body.replace(changed.body.find(release), release.size(), defect.by);
    for (std::uint64_t seed : {0u, 1u, 7u}) {
      changed.options.seed = seed;
      const RunReport report = changed.run();
      INFO(defect.kind << ", schedule " << seed << ": " << report.text());
      REQUIRE_FALSE(report.completed);
      const auto trace = nlohmann::json::parse(chrome_trace(report));
      CHECK(trace_problems(trace) == std::vector<std::string>{});
      const std::map<TraceRowId, std::string> names = trace_rows(trace);
      std::map<std::string, int> seen;
      std::int64_t fault_at = -1, last = 0;
      for (const auto& event : trace.at("traceEvents")) {
        if (event.at("ph") == "M") continue;
        const std::string row = names.at({event.at("pid"), event.at("tid")});
        ++seen[row + ": " + event.at("name").get<std::string>()];
        const std::int64_t begin = event.at("ts");
        last = std::max(last, begin + event.value("dur", 0));
        if (event.at("ph") != "i") continue;
        fault_at = begin;
        CHECK_FALSE(event.at("args").at("message").get<std::string>().empty());
        CHECK(event.at("args").at("line").get<int>() > 0);
      }
      CHECK(seen["TMA load: TMA load"] == 1);
      CHECK(seen["full: phase 0"] == 1);
      CHECK(seen["empty: phase 0, cut short by a fault"] == 1);
      CHECK(fault_at > 0);
      CHECK(last <= fault_at + 1);
      const bool deadlock = defect.by.empty();
      CHECK(seen[std::string(deadlock ? "producer (warp 0): " : "consumer (warp 1): ") + defect.kind] == 1);
      CHECK(seen["consumer (warp 1): wait for full, cut short by a fault"] == (deadlock ? 1 : 0));
      if (deadlock) CHECK(seen["producer (warp 0): wait for empty, cut short by a fault"] == 1);
    }
  }
}

TEST_CASE("What a viewer could not show of a trace is a problem") {
  const auto problems = [](const char* events) {
    return trace_problems(nlohmann::json::parse(std::string("{\"traceEvents\": [") +
        R"({"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"CTA"}},)"
        R"({"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"warp"}},)" + events + "]}"));
  };
  CHECK(problems(R"({"ph":"X","name":"a","pid":1,"tid":2,"ts":3,"dur":4})").empty());
  CHECK(problems(R"({"ph":"X","name":"a","pid":1,"tid":2,"ts":3,"dur":4},{"ph":"X","name":"b","pid":1,"tid":2,"ts":4,"dur":3})").empty());
  CHECK(problems(R"({"ph":"i","name":"a","pid":1,"tid":2,"ts":3,"s":"t"})").empty());
  for (const char* bad : {R"({"name":"a","pid":1,"tid":2,"ts":3,"dur":4})",
                          R"({"ph":"X","name":"a","tid":2,"ts":3,"dur":4})",
                          R"({"ph":"X","name":"a","pid":1,"ts":3,"dur":4})",
                          R"({"ph":"X","name":"","pid":1,"tid":2,"ts":3,"dur":4})",
                          R"({"ph":"X","name":"a","pid":1,"tid":2,"dur":4})",
                          R"({"ph":"X","name":"a","pid":1,"tid":2,"ts":3})",
                          R"({"ph":"B","name":"a","pid":1,"tid":2,"ts":3})",
                          R"({"ph":"X","name":"a","pid":1,"tid":3,"ts":3,"dur":4})",
                          R"({"ph":"X","name":"a","pid":1,"tid":2,"ts":3,"dur":4},{"ph":"X","name":"b","pid":1,"tid":2,"ts":4,"dur":4})"}) {
    INFO(bad);
    CHECK(problems(bad).size() == 1);
  }
  CHECK(problems(R"({"ph":"X","name":"a","pid":2,"tid":2,"ts":3,"dur":4})").size() == 2);  // neither name
  CHECK(trace_problems(nlohmann::json::object()).size() == 1);
}

TEST_CASE("Barriers that the launch names are named in stalls and faults, others by address") {
  std::vector<std::uint32_t> tile(64, 1);
  PtxProgram program = ring_program(tile);
  program.options.seed = 1;
  program.dynamic_shared_bytes = 8192;
  program.warp_roles = {"producer", "consumer"};
  program.barriers = {{"full", 4096, 1}};
  const RunReport report = program.run();
  REQUIRE(report.clean());
  std::set<std::string> waits;
  for (const Stall& stall : report.stalls) {
    waits.insert(stall.role + " " + stall.waits_for);
    CHECK(stall.share > 0);
    CHECK(stall.share <= 1);
  }
  CHECK(waits.count("consumer full") == 1);
  CHECK(waits.count("producer mbarrier 0x1408") == 1);

  program.body.replace(program.body.find("mbarrier.arrive.shared::cta.b64 _, [%r4];"), 41, "");
  const RunReport stuck = program.run();
  REQUIRE_FALSE(stuck.completed);
  CHECK(stuck.text().find("of the barrier at 0x1400 (full), an mbarrier") != std::string::npos);
  CHECK(stuck.text().find("of the barrier at 0x1408, an mbarrier") != std::string::npos);
  program.barriers = {{"empty", 4104, 1}};
  CHECK(program.run().text().find("of the barrier at 0x1408 (empty), an mbarrier") != std::string::npos);
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
