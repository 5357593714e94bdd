// Every case file of a folder on a GPU, in every score type and fill, against the reference.
// Exit codes: 0 all passed, 1 some did not, 2 wrong usage, 3 no usable GPU.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "generator/base/format.h"
#include "runtime/config.h"
#include "runtime/cuda_device.h"
#include "runtime/kernel_store.h"
#include "tests/hardware/case_run.h"
#include "tests/hardware/launch_cost.h"
#include "tests/hardware/overlap_run.h"

namespace mlaindex::hardware {
namespace {

constexpr int timed_runs = 25;

struct Settings {
  std::filesystem::path folder;
  std::string only;
  std::string fold = "f32";
  int device = 0;
  bool launch_cost = false;
  bool overlap = false;
  bool time = false;
  CaseSettings of_case;
};

Result<std::vector<std::filesystem::path>> case_files(const Settings& settings) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(settings.folder, error)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".safetensors" && name.find(settings.only) != std::string::npos)
      files.push_back(entry.path());
  }
  if (files.empty()) {
    return Error{ErrorCode::invalid_file,
                 fmt::format("{}: no *.safetensors files{}", settings.folder.string(),
                             error ? " (" + error.message() + ")" : ""),
                 "tests/hardware/make_cases.py writes them"};
  }
  std::sort(files.begin(), files.end());
  return files;
}

// One line on stdout.
bool run_and_report(Device& device, const std::filesystem::path& file, ScoreType type, Fill fill, FoldType fold,
                    const CaseSettings& settings) {
  const std::string label =
      fmt::format("{:<44} {:<4} fill={:<4}", file.stem().string(), score_type_name(type), fill_name(fill));
  auto input = tools::read_case(file, type, fill, fold);
  auto outcome = input ? run_case(device, std::move(*input), settings) : Result<CaseOutcome>(input.error());
  if (!outcome) {
    fmt::print("FAIL {} {}\n", label, outcome.error().text());
    return false;
  }
  const std::string time =
      outcome->kernel_milliseconds ? fmt::format(" {:9.2f} us", 1000 * *outcome->kernel_milliseconds) : "";
  fmt::print("{} {} {}{} {}\n", outcome->passed() ? "ok  " : "FAIL", label, outcome->plan, time,
             outcome->failure.value_or(summary(outcome->report)));
  return outcome->passed();
}

int run_cases(Device& device, const std::vector<std::filesystem::path>& files, FoldType fold, const CaseSettings& settings) {
  int runs = 0;
  int failures = 0;
  for (const auto& file : files) {
    for (const ScoreType type : {ScoreType::f32, ScoreType::bf16}) {
      for (const Fill fill : {Fill::none, Fill::negative_infinity}) {
        ++runs;
        if (!run_and_report(device, file, type, fill, fold, settings)) ++failures;
        std::fflush(stdout);
      }
    }
  }
  fmt::print("{}: {} files, fold {}, {} runs of {} repeats, {} failed\n", device.name(), files.size(), fold_name(fold), runs,
             settings.repeats, failures);
  return failures == 0 ? 0 : 1;
}

int report_launch_cost(CudaDevice& device, KernelStore& store, const std::filesystem::path& file) {
  auto input = tools::read_case(file, ScoreType::f32, Fill::none);
  const auto cost = input ? measure_launch_cost(device, store, *input) : Result<LaunchCost>(input.error());
  if (!cost) {
    fmt::print(stderr, "error: {}\n", cost.error().text());
    return 1;
  }
  fmt::print("launch of {}: {:.2f} us with encoded tensor maps, {:.2f} us when they change\n", file.stem().string(),
             cost->same_buffers_us, cost->new_buffers_us);
  return 0;
}

int run_overlaps(CudaDevice& device, KernelStore& store, const std::vector<std::filesystem::path>& files,
                 const std::string& plan) {
  int failures = 0;
  for (const auto& file : files) {
    auto input = tools::read_case(file, ScoreType::f32, Fill::none);
    const auto difference = input ? run_overlapping(device, store, *input, plan) : Result<std::string>(input.error());
    const std::string failure = difference ? *difference : difference.error().text();
    if (failure.empty()) continue;
    fmt::print("FAIL {} {}\n", file.stem().string(), failure);
    ++failures;
  }
  fmt::print("{}: launches that overlap, {} files, {} failed\n", device.name(), files.size(), failures);
  return failures == 0 ? 0 : 1;
}

int run(const Settings& settings) {
  const auto files = case_files(settings);
  if (!files) {
    fmt::print(stderr, "error: {}\n", files.error().text());
    return 2;
  }
  const auto fold = parse_fold(settings.fold);
  if (!fold) {
    fmt::print(stderr, "error: {}\n", fold.error().text());
    return 2;
  }
  const Config config = config_from_environment();
  KernelStore store(config, Log(config.log_level));
  auto device = CudaDevice::open(settings.device, store, config);
  if (!device) {
    fmt::print(stderr, "error: {}\n", device.error().text());
    return 3;
  }
  if (settings.launch_cost) return report_launch_cost(**device, store, files->front());
  if (settings.overlap) return run_overlaps(**device, store, *files, settings.of_case.plan);
  CaseSettings of_case = settings.of_case;
  of_case.timed_runs = settings.time ? timed_runs : 0;
  return run_cases(**device, *files, *fold, of_case);
}

}  // namespace
}  // namespace mlaindex::hardware

int main(int argc, char** argv) {
  mlaindex::hardware::Settings settings;
  CLI::App app{"Runs case files on a GPU and checks every byte of the result"};
  app.add_option("cases", settings.folder, "Folder of *.safetensors case files")->required();
  app.add_option("--only", settings.only, "Only files with this in their name");
  app.add_option("--fold", settings.fold, "Of the sum over heads: f32 or bf16");
  app.add_option("--device", settings.device, "Number of the GPU");
  app.add_option("--plan", settings.of_case.plan, "Plan to run instead of the default");
  app.add_option("--repeats", settings.of_case.repeats, "Runs of each case that must agree in every bit");
  app.add_flag("--time", settings.time, "Also time each kernel: median of 25 launches");
  app.add_flag("--overlap", settings.overlap, "Only check that launches which may overlap wait for each other");
  app.add_flag("--launch-cost", settings.launch_cost, "Only measure the host's cost of a launch, on the first case");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return mlaindex::hardware::run(settings);
}
