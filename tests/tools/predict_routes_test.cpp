// tune --predict: a table of the cycle model's times, and what is said where something is missing.
#include <algorithm>
#include <filesystem>

#include <catch2/catch.hpp>

#include "generator/route_table.h"
#include "runtime/find_disassembler.h"
#include "tests/tools/shell.h"
#include "tools/tune/plan_predictions.h"
#include "tools/tune/shapes.h"

using namespace mlaindex;
using namespace mlaindex::tools;
using Catch::Contains;

namespace {

using Environment = std::map<std::string, std::string>;

PlanTimes prefill_times(double q_resident, double k_resident) {
  return {bench_spec({BenchFamily::prefill, 1, 1024, 256}, {}, Arch::sm_100a),
          {1024, 256, 1},
          {{"q_resident", q_resident}, {"k_resident", k_resident}}};
}

// A program in nvdisasm's place, which prints a recorded listing whatever it is given, and notes each call.
Environment counting_disassembler(const Shell& run) {
  const std::string program = run.file("nvdisasm");
  write_bytes(program, "#!/bin/sh\necho called >> '" + run.file("calls") +
                           "'\nexec cat '" MLAINDEX_SOURCE_DIR "/tests/model/data/sm_100a_h64.sass'\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  return {{"MLAINDEX_JIT_NVDISASM", program}};
}

bool is_in_doubt(const RouteRow& row) {
  const double of_default = row.times.front().microseconds;
  return row.times.front().plan != "q_resident" || std::ranges::any_of(row.times, [&](const PlanTime& time) {
           return time.microseconds < of_default && time.microseconds >= 0.95 * of_default;
         });
}

}  // namespace

TEST_CASE("a plan that is faster than the default one by less than the model's error is left out of the row", "[tune]") {
  using Times = std::vector<PlanTime>;
  CHECK(predicted_row_of(prefill_times(10, 9.4)).times == Times{{"q_resident", 10}, {"k_resident", 9.4}});
  CHECK(predicted_row_of(prefill_times(10, 9.6)).times == Times{{"q_resident", 10}});
  CHECK(predicted_row_of(prefill_times(10, 10.1)).times == Times{{"q_resident", 10}, {"k_resident", 10.1}});
  CHECK(predicted_row_of(prefill_times(4.8236, 9)).times == Times{{"q_resident", 4.824}, {"k_resident", 9}});  // rounded up
  CHECK(predicted_row_of(prefill_times(4.8234, 9)).times == Times{{"q_resident", 4.823}, {"k_resident", 9}});
  CHECK(predicted_row_of(prefill_times(10, 9)).point == RoutePoint{1, 1024, 256});
}

TEST_CASE("tune --predict needs nvdisasm, and does not go with options of a measurement", "[tune]") {
  const Shell run;
  const std::string file = run.file("my.routes");
  const Finished missing =
      run({"tune", "--predict", "sm_100a", "-o", file}, {{"MLAINDEX_JIT_NVDISASM", "/nonexistent/nvdisasm"}});
  CHECK(missing.exit_code == 3);
  CHECK_THAT(missing.err, Contains("/nonexistent/nvdisasm") && Contains("nvidia-cuda-nvdisasm"));
  CHECK_FALSE(std::filesystem::exists(file));
  const auto refused = [&](std::vector<std::string> words, const char* message) {
    words.insert(words.begin(), {"tune", "--predict"});
    const Finished finished = run(words);
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, Contains(message));
  };
  refused({"sm_80"}, "allowed: sm_90a");
  refused({"sm_90a", "--check"}, "--check excludes --predict");
  refused({"sm_90a", "--device", "cuda:0"}, "--device excludes --predict");
  refused({"sm_90a", "--samples", "9"}, "--samples excludes --predict");
  refused({"sm_90a", "--seed", "1"}, "--seed excludes --predict");
  refused({"sm_90a", "--heads", "200"}, "200");
}

TEST_CASE("a predicted table has a row for every size of the grid, and each kernel is read once", "[tune]") {
  if (!has_nvrtc()) return;
  const Shell run;
  const std::string file = run.file("my.routes");
  const Finished finished =
      run({"tune", "--predict", "sm_100a", "--heads", "64", "-o", file, "--json"}, counting_disassembler(run));
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  const nlohmann::json json = parsed(finished);
  CHECK(json["gpu"] == "NVIDIA B200");
  CHECK(json["calibrated"] == false);
  CHECK(json["output"] == file);
  CHECK(json["counters"]["compiled"] == 4);  // two plans, under a causal mask and without

  const std::string text = read_bytes(file);
  CHECK(json["table"] == text);
  const std::string calls = read_bytes(run.file("calls"));
  CHECK(std::ranges::count(calls, '\n') == 4);
  const RouteTable table = parse_route_table(text, file).value();
  CHECK(table.arch == Arch::sm_100a);
  CHECK_FALSE(table.measured);
  CHECK(table.gpu == "NVIDIA B200");
  CHECK(table.rows.size() == grid_shapes(BenchFamily::prefill).size());  // paged keys have one plan
  CHECK(std::ranges::none_of(table.rows, is_in_doubt));
  std::size_t times = 0;
  for (const RouteRow& row : table.rows) times += row.times.size();
  CHECK(json["left_out"] == 2 * table.rows.size() - times);

  const Finished explained = run({"explain", "--arch", "sm_100a", "--tokens", "8192", "--keys", "256", "--mask", "full"},
                                 {{"MLAINDEX_JIT_ROUTES", file}});
  CHECK_THAT(explained.out, Contains(": predicted ") && Contains("(NVIDIA B200)"));
}

TEST_CASE("the real nvdisasm: without a file the table is on stdout, of every layout with a choice", "[tune]") {
  const Result<model::Disassembler> disassembler = find_disassembler(config_from_environment());
  if (!has_nvrtc() || !disassembler) {
    WARN("skipped: it needs NVRTC and nvdisasm");
    return;
  }
  const Shell run;
  const Finished finished =
      run({"tune", "--predict", "sm_90a", "--heads", "64"}, {{"MLAINDEX_JIT_NVDISASM", disassembler->program()}});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  const RouteTable table = parse_route_table(finished.out, "stdout").value();
  CHECK(table.gpu == "NVIDIA H200");
  CHECK(table.rows.size() == grid_shapes(BenchFamily::prefill).size() + grid_shapes(BenchFamily::decode).size());
}
