// The benchmark without a GPU: its shapes, data, statistics, timing against a stand-in driver, and what it prints.
#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/uploaded_problem.h"
#include "tests/runtime/fake_driver_test.h"
#include "tests/tools/shell.h"
#include "tools/bench/bench_case.h"
#include "tools/bench/launch_times.h"
#include "tools/bench/report.h"
#include "tools/bench/roofs.h"

using namespace mlaindex;
using namespace mlaindex::tools;
using Catch::Contains;

namespace {

constexpr BenchModel small_model{.num_heads = 4, .depth = 32, .page_size = 16};

Result<Case> bench_case(BenchFamily family, const char* shape, std::uint64_t seed = 1) {
  return make_bench_case(*parse_bench_shape(family, shape), small_model, seed);
}

BenchResult result_of(BenchFamily family, const char* shape, double microseconds) {
  BenchResult result{*parse_bench_shape(family, shape), small_model, "kernel", "plan", {100, 2e9, 4e6}, {}};
  result.times.warm_graph = spread_of({microseconds, microseconds, microseconds});
  return result;
}

constexpr Roofs some_roofs{.read = 4e12, .copy = 3e12, .tensor = 2e15, .event_gap = {}};

// Gives any image for any source.
class AnyCompiler final : public Compiler {
 public:
  Result<std::string> identity(Arch) override { return std::string("any"); }
  Result<CompileOutput> compile(Arch, const std::string&, const std::string&) override {
    return CompileOutput{"ptx", "cubin", ""};
  }
};

void add_words(void** parameters) {
  const auto data = reinterpret_cast<const std::uint32_t*>(*static_cast<cuda::DevicePointer*>(parameters[0]));
  const auto num_vectors = *static_cast<unsigned long long*>(parameters[1]);
  auto* sum = reinterpret_cast<std::uint32_t*>(*static_cast<cuda::DevicePointer*>(parameters[2]));
  for (unsigned long long i = 0; i < 4 * num_vectors; ++i) *sum += data[i];
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("percentiles lie between samples", "[bench]") {
  const Spread spread = spread_of({5, 1, 4, 2, 3});
  CHECK(spread.median == 3);
  CHECK(spread.low == Approx(1.4));
  CHECK(spread.high == Approx(4.6));
  CHECK(spread.least == 1);
  CHECK(spread.samples == 5);
  CHECK(spread_of({7}).high == 7);
  CHECK(spread_of({}).median == 0);
  CHECK(scaled(spread, 0.5).high == Approx(2.3));
}

TEST_CASE("shapes are read as they are printed; others are refused", "[bench]") {
  for (const BenchFamily family : {BenchFamily::prefill, BenchFamily::decode}) {
    for (const BenchShape& shape : default_bench_shapes(family)) {
      const Result<BenchShape> read = parse_bench_shape(family, to_string(shape));
      REQUIRE(read);
      CHECK(*read == shape);
    }
  }
  for (const char* text : {"", "x", "5", "5x", "5x0", "-1x5", "5x6x7", "5x6 ", "5x16777217", "5,6"}) {
    CHECK_FALSE(parse_bench_shape(BenchFamily::prefill, text));
  }
  CHECK_THAT(parse_bench_shape(BenchFamily::decode, "5x6").error().text(), Contains("REQUESTSxNEXT_NxCONTEXT"));
}

TEST_CASE("the work of a shape is counted, and its data are finite and the same for a seed", "[bench]") {
  const Result<Case> prefill = bench_case(BenchFamily::prefill, "3x5");
  REQUIRE(prefill);
  const BenchWork work = work_of(prefill->problem);
  CHECK(work.scores == 3 + 4 + 5);
  CHECK(work.operations == 2 * 12 * 4 * 32);
  CHECK(work.bytes == (3 * 4 + 5) * 36 + 12 * 4);

  const Result<Case> decode = bench_case(BenchFamily::decode, "4x2x100");
  REQUIRE(decode);
  const PagedKeys& paged = decode->problem.paged;
  std::set<std::int32_t> pages;
  std::int64_t used = 0;
  for (int b = 0; b < 4; ++b) {
    const std::int32_t length = paged.context_lens[static_cast<std::size_t>(b)];
    CHECK((length >= 70 && length <= 130));
    for (std::int64_t p = 0; p < (length + 15) / 16; ++p, ++used) {
      pages.insert(paged.block_table[static_cast<std::size_t>(b * paged.pages_per_request + p)]);
    }
    for (std::int64_t key = 0; key < length; ++key) {
      const KeyView view = key_of_request(paged, 32, b, key);
      CHECK((view.scale >= 0.5f && view.scale < 1.5f));
      CHECK(std::none_of(view.elements.begin(), view.elements.end(), [](std::uint8_t e) { return (e & 0x7f) == 0x7f; }));
    }
  }
  CHECK(static_cast<std::int64_t>(pages.size()) == used);  // no page twice
  CHECK(decode->problem.num_tokens == 8);
  CHECK(std::ranges::equal(paged.pages, bench_case(BenchFamily::decode, "4x2x100")->problem.paged.pages));
  CHECK_FALSE(std::ranges::equal(paged.pages, bench_case(BenchFamily::decode, "4x2x100", 2)->problem.paged.pages));
  CHECK(bench_case(BenchFamily::decode, "1x1x100")->problem.paged.context_lens[0] == 100);
  CHECK(make_check_case({BenchFamily::decode, 64, 3, 65536}, small_model, 1)->problem.paged.next_n == 3);
}

TEST_CASE_METHOD(FakeDriverTest, "launches are timed warm and cold, in graphs and one by one", "[bench]") {
  const Result<Case> data = bench_case(BenchFamily::prefill, "8x64");
  REQUIRE(data);
  auto stopwatch = GpuStopwatch::create(context());
  REQUIRE(stopwatch);
  auto launcher = Launcher::create(context(), fake_kernel(spec_for(data->problem, Arch::sm_90a)));
  REQUIRE(launcher);
  const std::vector<std::byte> scores(score_buffer_bytes(data->problem));
  const auto uploaded = UploadedProblem::create(context(), data->problem, scores, false);
  REQUIRE(uploaded);
  // Between any two of its events the stand-in says 250 us.
  const Result<LaunchTimes> times = time_launches(*stopwatch, *launcher, uploaded->device(), 5);
  REQUIRE(times);
  CHECK(times->launches_per_sample == 4);
  CHECK(times->warm_graph.median == 62.5);
  CHECK(times->warm_launches.median == 62.5);
  CHECK(times->cold_graph.median == 250);
  CHECK(times->cold_launch.high == 250);
  CHECK(times->cold_launch.samples == 5);
  CHECK(times->host.median > 0);
  CHECK(fake().captures == 2);
  CHECK(fake().captured_launches == 4 + 1);
  CHECK(fake().replays == 2 + 5 + 5);
  CHECK(fake().word_fills == 5 + 5);  // L2 is overwritten before every cold sample
  CHECK(fake().graphs == 0);
  for (const char* function : {"cuGraphLaunch", "cuStreamBeginCapture", "cuMemsetD32Async", "cuLaunchKernelEx"}) {
    fail(function, cuda::ReturnCode::launch_failed);
    const Result<LaunchTimes> failed = time_launches(*stopwatch, *launcher, uploaded->device(), 5);
    REQUIRE_FALSE(failed);
    CHECK_THAT(failed.error().message, Contains("(719)"));
  }
}

TEST_CASE_METHOD(FakeDriverTest, "roofs are measured, and a read that leaves something out is found", "[bench]") {
  auto stopwatch = GpuStopwatch::create(context());
  REQUIRE(stopwatch);
  AnyCompiler compiler;
  constexpr std::size_t bytes = 1 << 16;
  const auto roofs = [&] { return measure_roofs(context(), *stopwatch, compiler, Arch::sm_90a, bytes, 3); };
  const Result<Roofs> unread = roofs();
  REQUIRE_FALSE(unread);
  CHECK_THAT(unread.error().message, Contains("added 16384 words of 1 up to 0"));
  fake().plain_kernel = &add_words;
  const Result<Roofs> measured = roofs();
  REQUIRE(measured);
  CHECK(measured->read == Approx(bytes / 250e-6));
  CHECK(measured->copy == Approx(2 * bytes / 250e-6));
  CHECK(measured->tensor == Approx(1.979e15).epsilon(0.01));
  CHECK(measured->event_gap.median == 250);
  CHECK(fake().device_copies == 1 + 3);
}

TEST_CASE("the kernel that reads compiles for both archs", "[bench]") {
  if (!has_nvrtc()) return;
  const std::unique_ptr<Compiler> compiler = make_nvrtc_compiler(config_from_environment());
  for (const Arch arch : all_archs) {
    const Result<CompiledKernel> kernel = compile_read_kernel(*compiler, arch);
    if (!kernel) FAIL(kernel.error().text());
    CHECK_THAT(kernel->ptx, Contains("mlaindex_read_memory") && Contains("ld.global.cs.v4"));
  }
}

TEST_CASE("results as a table and as JSON", "[bench]") {
  const BenchResult result = result_of(BenchFamily::decode, "64x1x8192", 20);
  const std::vector<std::string> table = bench_table({result}, some_roofs);
  REQUIRE(table.size() == 3);
  CHECK(table[0].size() == table[2].size());
  CHECK_THAT(table[1], Contains("requests x next_n x context"));
  CHECK_THAT(table[2], Contains("64x1x8192") && Contains("20.0 (20.0-20.0)") && Contains("100") && Contains("0.05"));
  const Json json = result_json(result, some_roofs);
  CHECK(json["times_us"]["warm_graph"]["median"] == 20.0);
  CHECK(json["operations_per_second"].get<double>() == Approx(1e14));
  CHECK(json["of_read"].get<double>() == Approx(0.05));
  CHECK(json["roof_us"].get<double>() == Approx(1.0));
  CHECK(bench_table({}, some_roofs).empty());
}

TEST_CASE("the plot has a curve and a roof for each batch, on logarithmic axes", "[bench]") {
  const std::vector<BenchResult> results{result_of(BenchFamily::decode, "1x1x65536", 40),
                                         result_of(BenchFamily::decode, "1x1x16384", 10),
                                         result_of(BenchFamily::decode, "8x1x32768", 20)};
  const std::vector<PlotPanel> panels = bench_panels(results, some_roofs, "GPU <0>");
  REQUIRE(panels.size() == 1);
  REQUIRE(panels[0].series.size() == 4);
  CHECK(panels[0].series[0].label == "1 request x 1");
  CHECK(panels[0].series[0].points.front().x == 16384);  // sorted
  const std::string svg = svg_plot(panels);
  CHECK(count(svg, "<polyline") == 4);
  CHECK(count(svg, "stroke-dasharray") == 2);
  CHECK(count(svg, "<circle") == 3);
  CHECK_THAT(svg, Catch::StartsWith("<svg") && Catch::EndsWith("</svg>\n"));
  CHECK_THAT(svg, Contains("GPU &lt;0&gt;") && Contains(">64K<") && Contains(">32K<") && !Contains("nan") && !Contains("inf"));
  CHECK_THAT(svg_plot({{"empty", "x", "y", {{"none", {{0, 1}}, false}}}}), Contains("no points"));
}

TEST_CASE("bench without a GPU ends with 3 and says why", "[bench]") {
  const Shell run;
  for (const char* device : {"emulator", "cpu"}) {
    const Finished finished = run({"bench", "--device", device, "--json"});
    CHECK(finished.exit_code == 3);
    CHECK_THAT(finished.err, Contains("timings need a GPU") && Contains("allowed: auto, cuda:N"));
    CHECK(parsed(finished)["error"]["code"] == "no_device");
  }
  const Finished missing = run({"bench"}, {{"MLAINDEX_JIT_CUDA_DRIVER", "/nonexistent/libcuda.so"}});
  CHECK(missing.exit_code == 3);
  CHECK_THAT(missing.err, Contains("timings need a GPU") && Contains("/nonexistent/libcuda.so"));
}

TEST_CASE("bench with wrong options ends with 2", "[bench]") {
  const Shell run;
  const std::vector<std::pair<std::vector<std::string>, const char*>> wrong{
      {{"--preset", "gpt-2"}, "unknown preset 'gpt-2'"}, {{"--heads", "129"}, "num_heads = 129"},
      {{"--prefill", "12"}, "TOKENSxKEYS"},              {{"--decode", "1x2"}, "REQUESTSxNEXT_NxCONTEXT"},
      {{"--page-size", "48"}, "page_size = 48"},         {{"--samples", "2"}, "--samples 2"},
      {{"--device", "tpu"}, "unknown device 'tpu'"},     {{"--fill", "0"}, "unknown fill '0'"},
      {{"--score-type", "f16"}, "unknown score type"},   {{"--fold", "f16"}, "unknown fold 'f16'"}};
  for (const auto& [words, message] : wrong) {
    std::vector<std::string> all{"bench"};
    all.insert(all.end(), words.begin(), words.end());
    const Finished finished = run(all);
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, Contains(message));
  }
}

TEST_CASE("kernels whose scores are wrong are not timed", "[bench]") {
  if (!has_nvrtc()) return;
  const Shell run;  // the stand-in for libcuda runs nothing
  const Finished finished = run({"bench", "--heads", "4", "--depth", "32", "--prefill", "8x64", "--samples", "3", "--json"},
                                {{"MLAINDEX_JIT_CUDA_DRIVER", MLAINDEX_FAKE_DRIVER}});
  INFO(finished.err);
  CHECK(finished.exit_code == 1);
  const nlohmann::json json = parsed(finished);
  CHECK(json["passed"] == false);
  CHECK(json["checks"].size() == 1);
  CHECK_FALSE(json.contains("results"));
}
