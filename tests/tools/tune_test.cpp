// The tuner without a GPU: its sizes, side-by-side timing against a stand-in driver, losses, and what the command says.
#include <algorithm>

#include "runtime/uploaded_problem.h"
#include "tests/runtime/fake_driver_test.h"
#include "tests/tools/shell.h"
#include "tools/bench/launch_times.h"
#include "tools/safetensors.h"
#include "tools/tune/route_loss.h"
#include "tools/tune/shapes.h"

using namespace mlaindex;
using namespace mlaindex::tools;
using Catch::Contains;

namespace {

constexpr BenchModel model{.num_heads = 64, .depth = 128};

PlanTimes decode_times(const ProblemSize& size, double wide, double narrow) {
  return {bench_spec({BenchFamily::decode}, model, Arch::sm_90a), size, {{"paged", wide}, {"paged_narrow", narrow}}};
}

RouteTable table_of(const std::vector<PlanTimes>& measured) {
  RouteTable table{Arch::sm_90a, true, "test", {}};
  for (const PlanTimes& times : measured) table.rows.push_back(row_of(times));
  return table;
}

}  // namespace

TEST_CASE("the grid and the held-out sizes have nothing in common, and every layout has both", "[tune]") {
  for (const BenchFamily family : {BenchFamily::prefill, BenchFamily::decode}) {
    const std::vector<BenchShape> grid = grid_shapes(family), held_out = held_out_shapes(family);
    CHECK(grid.size() >= 40);
    CHECK(held_out.size() >= 20);
    for (const BenchShape& shape : held_out) CHECK(std::find(grid.begin(), grid.end(), shape) == grid.end());
    for (const std::vector<BenchShape>& shapes : {grid, held_out}) {
      for (const BenchShape& shape : shapes) {
        const Result<BenchShape> read = parse_bench_shape(family, to_string(shape));
        REQUIRE(read);
        CHECK(*read == shape);
      }
    }
  }
}

TEST_CASE_METHOD(FakeDriverTest, "kernels of one problem are timed in turn, in graphs", "[tune]") {
  const Result<Case> data = make_bench_case({BenchFamily::prefill, 1, 8, 64}, {.num_heads = 4, .depth = 32}, 1);
  REQUIRE(data);
  auto stopwatch = GpuStopwatch::create(context());
  REQUIRE(stopwatch);
  const CompiledKernel kernel = fake_kernel(spec_for(data->problem, Arch::sm_90a));
  auto first = Launcher::create(context(), kernel), second = Launcher::create(context(), kernel);
  REQUIRE(first);
  REQUIRE(second);
  const std::vector<std::byte> scores(score_buffer_bytes(data->problem));
  const auto uploaded = UploadedProblem::create(context(), data->problem, scores, false);
  REQUIRE(uploaded);
  Launcher* const launchers[] = {&*first, &*second};
  // Between any two of its events the stand-in says 250 us: four launches a sample.
  const Result<std::vector<Spread>> times = time_in_turn(*stopwatch, launchers, uploaded->device(), 5);
  REQUIRE(times);
  REQUIRE(times->size() == 2);
  for (const Spread& spread : *times) {
    CHECK(spread.median == 62.5);
    CHECK(spread.samples == 5);
  }
  CHECK(fake().captures == 2);
  CHECK(fake().captured_launches == 2 * 4);
  CHECK(fake().replays == 2 * (1 + 5));
  CHECK(fake().graphs == 0);
  for (const char* function : {"cuGraphLaunch", "cuStreamBeginCapture", "cuLaunchKernelEx"}) {
    fail(function, cuda::ReturnCode::launch_failed);
    CHECK_FALSE(time_in_turn(*stopwatch, launchers, uploaded->device(), 5));
  }
}

TEST_CASE("what was measured becomes a row that the route then goes by", "[tune]") {
  const PlanTimes times = decode_times({2, 1331, 2}, 3.456789, 12345.678);
  const RouteRow row = row_of(times);
  CHECK(row == RouteRow{Layout::paged, 64, 128, {2, 1, 1331}, {{"paged", 3.457}, {"paged_narrow", 12350}}});
  const RouteTable table = table_of({times});
  CHECK(choose_route(times.spec, times.size, table)->rows.at(0).row == &table.rows[0]);
  CHECK(choose_route(times.spec, times.size, table)->plan.name == "paged");  // the rule would take paged_narrow
}

TEST_CASE("the loss of a route is its plan's time over the best", "[tune]") {
  const RouteTable table = table_of({decode_times({1, 1024, 1}, 4, 3), decode_times({1, 65536, 1}, 5, 6)});
  const std::vector<RouteLoss> losses{route_loss(decode_times({1, 2000, 1}, 4.4, 4), table).value(),
                                      route_loss(decode_times({1, 40000, 1}, 5.5, 5), table).value()};
  CHECK(losses[0].chosen == "paged_narrow");
  CHECK(losses[0].best == "paged_narrow");
  CHECK(losses[0].loss == 0);
  CHECK(losses[1].chosen == "paged");
  CHECK(losses[1].best == "paged_narrow");
  CHECK(losses[1].loss == Approx(0.1));
  CHECK(summary_of(losses).mean == Approx(0.05));
  CHECK(summary_of(losses).worst == Approx(0.1));
  CHECK(summary_of({}).worst == 0);
  const std::vector<std::string> lines = loss_lines(losses);
  REQUIRE(lines.size() == 3);
  CHECK_THAT(lines[2], Contains("1 request x 1 token x 40000 keys") && Contains("10.0%") && Contains("paged=5.5"));
  CHECK(loss_lines({}).empty());
  CHECK(loss_json(losses[1])["times_us"]["paged_narrow"] == 5.0);
  CHECK(loss_json(losses[1])["chosen"] == "paged");

  PlanTimes partial = decode_times({1, 1000, 1}, 4, 3);
  partial.times.pop_back();
  CHECK_THAT(route_loss(partial, table).error().text(), Contains("'paged_narrow' was not timed"));
}

TEST_CASE("tune without a GPU ends with 3 and says why", "[tune]") {
  const Shell run;
  const Finished emulator = run({"tune", "--device", "emulator", "--json"});
  CHECK(emulator.exit_code == 3);
  CHECK(parsed(emulator)["error"]["code"] == "no_device");
  const Finished missing = run({"tune", "--check"}, {{"MLAINDEX_JIT_CUDA_DRIVER", "/nonexistent/libcuda.so"}});
  CHECK(missing.exit_code == 3);
  CHECK_THAT(missing.err, Contains("timings need a GPU") && Contains("/nonexistent/libcuda.so"));
}

TEST_CASE("plans whose scores are wrong are neither timed nor written", "[tune]") {
  if (!has_nvrtc()) return;
  const Shell run;  // the stand-in for libcuda runs nothing
  const std::map<std::string, std::string> fake{{"MLAINDEX_JIT_CUDA_DRIVER", MLAINDEX_FAKE_DRIVER}};
  const std::string file = run.file("my.routes");
  const Finished finished = run({"tune", "--heads", "64", "--depth", "32", "-o", file, "--json"}, fake);
  INFO(finished.err);
  CHECK(finished.exit_code == 1);
  const nlohmann::json json = parsed(finished);
  CHECK(json["passed"] == false);
  CHECK(json["checks"].size() >= 2);
  CHECK_FALSE(json.contains("table"));
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("a table of one's own decides what explain, emit and doctor say; a bad one is a warning", "[tune]") {
  const Shell run;
  const std::string file = run.file("my.routes");
  const std::map<std::string, std::string> own{{"MLAINDEX_JIT_ROUTES", file}};
  write_bytes(file, "mlaindex-routes 1\narch sm_90a\nmeasured H20\npaged 64 128 1 1 8192 paged=4 paged_narrow=3.5 paged_deep=3\n");
  const std::vector<std::string> problem{"--arch", "sm_90a", "--layout", "paged", "--tokens", "1", "--keys", "9000", "--requests", "1"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), problem.begin(), problem.end());
    return words;
  };
  const std::string why = "paged_deep: measured 3 us against 4 us of paged and 3.5 us of paged_narrow at 1 request x 1 token x 8192 "
                          "keys, 64 heads, depth 128 (H20)";
  CHECK_THAT(run(with({"explain"}), own).out, Contains("route      " + why));
  CHECK(parsed(run(with({"explain", "--json"}), own))["route"] == why);
  CHECK(parsed(run(with({"emit", "--json"}), own))["plan"] == "paged_deep");
  CHECK_THAT(run(with({"explain", "--plan", "paged"}), own).out, Contains("route      paged: as asked"));
  CHECK_THAT(run({"doctor"}, own).out, Contains("sm_90a: " + file + ", measured on H20, 1 row") && Contains("sm_100a: shipped"));

  write_bytes(file, "mlaindex-routes 1\narch sm_90a\nmeasured H20\npaged 64 128 1 1 8192 fast=4\n");
  const Finished bad = run(with({"explain", "--json"}), own);
  CHECK(bad.exit_code == 0);
  CHECK_THAT(bad.err, Contains("the shipped route tables are used") && Contains("my.routes:4: no plan 'fast'"));
}
