// Timelines and stalls of the emulator, as the program gives them.
#include <filesystem>
#include <set>

#include <catch2/catch.hpp>

#include "runtime/find_assembler.h"
#include "tests/chrome_trace.h"
#include "tests/tools/shell.h"

using namespace mlaindex;
using namespace mlaindex::tools;
using Catch::Contains;

namespace {

std::vector<std::string> score_words(const std::string& in, const char* arch, std::vector<std::string> more) {
  std::vector<std::string> words{"score", in, "--device", "emulator", "--arch", arch};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("score --trace writes a Chrome trace of roles, engines and barriers") {
  if (!has_nvrtc()) return;
  const Shell run;
  const std::string in = run.make_case();
  for (const char* arch : {"sm_90a", "sm_100a"}) {
    const Finished finished = run(score_words(in, arch, {"--check", "--trace", run.file("trace.json")}));
    INFO(finished.out + finished.err);
    REQUIRE(finished.exit_code == 0);
    CHECK_THAT(finished.out, Contains("timeline   " + run.file("trace.json")));
    const nlohmann::json trace = nlohmann::json::parse(read_bytes(run.file("trace.json")));
    CHECK(trace_problems(trace) == std::vector<std::string>{});
    const std::map<TraceRowId, std::string> names = trace_rows(trace);
    std::set<std::string> rows;
    for (const auto& event : trace.at("traceEvents"))
      if (event.at("ph") == "X") rows.insert(event.at("cat").get<std::string>() + ": " + names.at({event.at("pid"), event.at("tid")}));
    const auto has_row = [&](const std::string& start) {
      return std::any_of(rows.begin(), rows.end(), [&](const std::string& row) { return row.starts_with(start); });
    };
    CHECK(has_row("warp: math"));
    CHECK(has_row("engine: TMA load"));
    CHECK(has_row("barrier: key_full[0]"));
    CHECK(has_row("barrier: q_full"));
    CHECK(has_row(std::string(arch) == "sm_100a" ? "engine: MMA" : "engine: wgmma"));
    CHECK(has_row("barrier: accumulator_full[0]") == (std::string(arch) == "sm_100a"));
  }
}

TEST_CASE("score --trace leaves the timeline of a run that a fault stopped") {
  if (!has_nvrtc() || !find_assembler(config_from_environment())) return;
  const Shell run;
  const std::string in = run.file("case.safetensors");  // 64 heads: with 4 no register is left for a change
  REQUIRE(run({"make-case", in, "--tokens", "5", "--keys", "70", "--heads", "64", "--depth", "32", "--requests", "2"}).exit_code == 0);
  // The kernel with a trap behind its first store.
  REQUIRE(run(score_words(in, "sm_100a", {"--dump-dir", run.file("override")})).exit_code == 0);
  std::string kernel;
  for (const auto& entry : std::filesystem::directory_iterator(run.file("override"))) {
    if (entry.path().extension() == ".ptx") kernel = entry.path().string();
    else std::filesystem::remove(entry.path());
  }
  std::string text = read_bytes(kernel);
  const std::size_t store = text.find("st.global");
  REQUIRE(store != std::string::npos);
  const std::size_t line = text.rfind('\n', store) + 1;
  const std::string guard = text.substr(line, store - line);  // of the store: the verify pass must not see the end of a role
  write_bytes(kernel, text.insert(text.find('\n', store) + 1, guard + "trap;\n"));

  const Finished finished = run(score_words(in, "sm_100a", {"--check", "--override-dir", run.file("override"),
                                                            "--trace", run.file("trace.json")}));
  INFO(finished.out + finished.err);
  CHECK(finished.exit_code == 1);
  CHECK_THAT(finished.err, Contains("the emulator found a fault in the kernel") && Contains("trap at line "));
  CHECK_THAT(finished.out, Contains("timeline   " + run.file("trace.json")));
  const nlohmann::json trace = nlohmann::json::parse(read_bytes(run.file("trace.json")));
  CHECK(trace_problems(trace) == std::vector<std::string>{});
  std::set<std::string> names;
  for (const auto& event : trace.at("traceEvents"))
    if (event.at("ph") != "M") names.insert(event.at("name"));
  CHECK(names.contains("TMA load"));
  CHECK(names.contains("MMA"));
  CHECK(names.contains("wait for accumulator_full[0]"));
  CHECK(names.contains("phase 0, cut short by a fault"));
  CHECK(names.contains("fault: trap"));
}

TEST_CASE("score says what each role waited for") {
  if (!has_nvrtc()) return;
  const Shell run;
  const std::string in = run.make_case();
  CHECK_THAT(run(score_words(in, "sm_100a", {})).out, Contains("stalls     ") && Contains("of the time: "));
  const nlohmann::json json = parsed(run(score_words(in, "sm_100a", {"--json"})));
  bool named = false;
  for (const auto& stall : json["cases"][0]["stalls"]) {
    CHECK_FALSE(stall.at("role").get<std::string>().empty());
    CHECK(stall.at("share").get<double>() >= 0);
    CHECK(stall.at("share").get<double>() <= 1);
    CHECK(stall.at("times").get<std::int64_t>() > 0);
    const std::string waits_for = stall.at("waits_for");
    named = named || waits_for.starts_with("accumulator_full[") || waits_for.starts_with("key_full[");
    CHECK_THAT(waits_for, !Contains("0x"));  // the plan knows every barrier
  }
  CHECK(named);
  CHECK_FALSE(parsed(run({"score", in, "--device", "cpu", "--json"}))["cases"][0].contains("stalls"));
}

TEST_CASE("--trace is refused where no timeline is kept") {
  const Shell run;
  const std::string in = run.make_case();
  const Finished cpu = run({"score", in, "--device", "cpu", "--trace", run.file("trace.json")});
  CHECK(cpu.exit_code == 2);
  CHECK_THAT(cpu.err, Contains("--trace: ") && Contains("keeps no timeline") && Contains("--device emulator"));
  const Finished gpu = run({"score", in, "--device", "cuda:0", "--trace", run.file("trace.json")},
                           {{"MLAINDEX_JIT_CUDA_DRIVER", MLAINDEX_FAKE_DRIVER}});
  CHECK(gpu.exit_code == 2);
  for (const std::vector<std::string>& words :
       {score_words(in, "sm_90a", {in, "--trace", run.file("trace.json")}),
        score_words(in, "sm_90a", {"--repeat", "2", "--trace", run.file("trace.json")})}) {
    const Finished several = run(words);
    CHECK(several.exit_code == 2);
    CHECK_THAT(several.err, Contains("one run"));
  }
  CHECK_FALSE(std::filesystem::exists(run.file("trace.json")));
}

TEST_CASE("--trace without a launch is an empty timeline; a file that cannot be written is an error") {
  if (!has_nvrtc()) return;
  const Shell run;
  REQUIRE(run({"make-case", run.file("none"), "--tokens", "0", "--keys", "7", "--mask", "full"}).exit_code == 0);
  CHECK(run(score_words(run.file("none"), "sm_90a", {"--trace", run.file("trace.json")})).exit_code == 0);
  CHECK(nlohmann::json::parse(read_bytes(run.file("trace.json"))).at("traceEvents").empty());
  const Finished unwritable = run(score_words(run.make_case(), "sm_90a", {"--trace", run.file("absent/trace.json")}));
  CHECK(unwritable.exit_code == 2);
  CHECK_THAT(unwritable.err, Contains("absent/trace.json"));
}
