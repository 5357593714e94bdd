// PTX parsed and printed again assembles to the machine code of the original text.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "generator/base/format.h"
#include "generator/ptx/assembler.h"
#include "generator/ptx/parser.h"
#include "generator/ptx/printer.h"
#include "tests/kernels/compiled.h"
#include "tests/kernels/spec_product.h"
#include "tests/parallel.h"
#include "tests/ptx/machine_code.h"

using namespace mlaindex;

namespace {

// Nothing, with a warning, where there is no ptxas.
std::optional<ptx::Assembler> assembler() {
  auto found = ptx::Assembler::find();
  if (found) return *found;
  WARN("round trip not checked: " << found.error().text());
  return std::nullopt;
}

// The cubins of the text and of what is printed after parsing it.
struct RoundTrip {
  std::string name;
  std::string problem;  // empty when there are both
  std::string before, after;
};

RoundTrip round_trip(const ptx::Assembler& assembler, std::string name, const std::string& text) {
  RoundTrip trip{std::move(name), "", "", ""};
  const auto failed = [&](std::string problem) {
    trip.problem = std::move(problem);
    return trip;
  };
  const Result<ptx::Module> module = ptx::parse(text);
  if (!module) return failed(module.error().text());
  const std::string printed = ptx::print(*module);
  const Result<ptx::Module> again = ptx::parse(printed);
  if (!again) return failed("as printed: " + again.error().text());
  if (!(*again == *module)) return failed("the printed text is another module");
  const std::string arch = module->targets.front();
  Result<std::string> before = assembler.assemble(text, arch), after = assembler.assemble(printed, arch);
  if (!before) return failed(before.error().text());
  if (!after) return failed("as printed: " + after.error().text());
  trip.before = std::move(*before);
  trip.after = std::move(*after);
  return trip;
}

// In the main thread: the comparison asserts. Returns how many gave the same code.
std::size_t check(const std::vector<RoundTrip>& trips) {
  std::size_t same = 0;
  for (const RoundTrip& trip : trips) {
    INFO(trip.name);
    CHECK(trip.problem == "");
    if (!trip.problem.empty()) continue;
    const bool equal = machine_code(trip.before) == machine_code(trip.after);
    CHECK(equal);
    same += equal;
  }
  return same;
}

void check_round_trips(const std::string& title, const std::vector<SpecOfPlan>& items) {
  const auto with = assembler();
  if (!with) return;
  const Stopwatch watch;
  const std::unique_ptr<Compiler> compiler = make_nvrtc_compiler(config_from_environment());
  std::vector<RoundTrip> trips(items.size());
  in_parallel(items.size(), [&](std::size_t i) {
    const auto& [spec, plan] = items[i];
    const std::string name = to_string(spec) + " plan=" + plan;
    const Result<ptx::Artifact> kernel = compiled(*compiler, spec, make_plan(spec, plan).value());
    trips[i] = kernel ? round_trip(*with, name, kernel->ptx) : RoundTrip{name, kernel.error().text(), "", ""};
  });
  const std::size_t same = check(trips);
  fmt::print("round trip, {}: {} of {} kernels assemble to the same machine code{}\n", title, same, items.size(), watch.text());
  std::fflush(stdout);
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a sample of kernels assembles to the same machine code after a round trip") {
  std::vector<SpecOfPlan> sample;
  const std::vector<SpecOfPlan> all = spec_product();
  for (std::size_t i = 0; i < all.size(); i += 73) sample.push_back(all[i]);  // coprime to the extents: all values occur
  check_round_trips("a sample", sample);
}

// About 20 minutes of one core; -c "sm_100a/seed" runs one section.
TEST_CASE("every kernel assembles to the same machine code after a round trip", "[.full]") {
  for (Arch arch : all_archs)
    for (const std::string& plan : plan_names(arch))
      DYNAMIC_SECTION(arch_name(arch) << "/" << plan) {
        std::vector<SpecOfPlan> items = spec_product();
        std::erase_if(items, [&](const SpecOfPlan& item) { return item.spec.arch != arch || item.plan != plan; });
        REQUIRE(items.size() == 384);
        check_round_trips(std::string(arch_name(arch)) + "/" + plan, items);
      }
}

// PTX of other people's kernels, which is not in the repository: MLAINDEX_EXTRA_PTX names its folder.
TEST_CASE("PTX of a folder assembles to the same machine code after a round trip", "[.extra]") {
  const char* folder = std::getenv("MLAINDEX_EXTRA_PTX");
  if (!folder) FAIL("set MLAINDEX_EXTRA_PTX to a folder of .ptx files");
  const auto with = assembler();
  if (!with) return;
  std::vector<RoundTrip> trips;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() == ".ptx")
      trips.push_back(round_trip(*with, file.path().filename().string(), contents(file.path())));
  CHECK_FALSE(trips.empty());
  check(trips);
}
