// How long a kernel takes to get: from memory, from disk, compiled.
//
// Targets: disk hit to verified cubin in memory at most 1 ms; cold compile, NVRTC's own cache off, at
// most 150 ms (median) on 2 cores. The first lookup of a process also loads libnvrtc, which
// load_nvrtc shows.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "generator/source.h"
#include "runtime/kernel_store.h"
#include "runtime/nvrtc.h"

namespace {

using namespace mlaindex;

// A cache directory for one benchmark.
class CacheDirectory {
 public:
  CacheDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "mlaindex_bench_XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~CacheDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

// Seconds that `step` takes.
template <class Step>
double seconds(Step step) {
  const auto start = std::chrono::steady_clock::now();
  step();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Spec spec_of(Arch arch) {
  Spec spec;
  spec.arch = arch;
  return spec;
}

void memory_hit(benchmark::State& state, Arch arch) {
  Config config = config_from_environment();
  config.cache_enabled = false;
  KernelStore store(config, Log(LogLevel::off));
  if (const auto made = store.get(spec_of(arch)); !made) state.SkipWithError(made.error().text().c_str());
  for (auto _ : state) {
    const Result<KernelLookup> lookup = store.get(spec_of(arch));
    if (!lookup) state.SkipWithError(lookup.error().text().c_str());
    benchmark::DoNotOptimize(lookup);
  }
}

// Each lookup is a new store's first: key, file, digest, header. NVRTC is loaded already.
void disk_hit(benchmark::State& state, Arch arch) {
  const CacheDirectory directory;
  Config config = config_from_environment();
  config.use_cache_dir(directory.path());
  const Log log(LogLevel::off);
  if (const auto filled = KernelStore(config, log).get(spec_of(arch)); !filled)
    state.SkipWithError(filled.error().text().c_str());
  for (auto _ : state) {
    KernelStore store(config, log);
    KernelOrigin origin = KernelOrigin::memory;
    state.SetIterationTime(seconds([&] {
      const Result<KernelLookup> lookup = store.get(spec_of(arch));
      if (lookup) origin = lookup->origin;
    }));
    if (origin != KernelOrigin::disk) state.SkipWithError("not a disk hit");
  }
}

// Source to PTX and cubin, by NVRTC.
void cold_compile(benchmark::State& state, Arch arch, const std::string& plan_name) {
  Config config = config_from_environment();
  config.nvrtc_cache = false;
  const auto compiler = make_nvrtc_compiler(config);
  const Result<Plan> plan = make_plan(spec_of(arch), plan_name);
  const Result<std::string> source = plan ? emit_source(spec_of(arch), *plan) : Result<std::string>(plan.error());
  if (!source) {
    state.SkipWithError(source.error().text().c_str());
    return;
  }
  for (auto _ : state) {
    const Result<CompileOutput> output = compiler->compile(arch, "kernel.cu", *source);
    if (!output) state.SkipWithError(output.error().text().c_str());
  }
}

void load_nvrtc(benchmark::State& state) {
  const Config config = config_from_environment();
  for (auto _ : state) {
    const Result<Nvrtc> nvrtc = Nvrtc::open(config);
    if (!nvrtc) state.SkipWithError(nvrtc.error().text().c_str());
  }
}

// First, while libnvrtc is not loaded yet: once, since it stays.
BENCHMARK(load_nvrtc)->Iterations(1)->Unit(benchmark::kMillisecond);

const bool registered = [] {
  for (Arch arch : all_archs) {
    const std::string name(arch_name(arch));
    benchmark::RegisterBenchmark(("memory_hit/" + name).c_str(), memory_hit, arch)->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(("disk_hit/" + name).c_str(), disk_hit, arch)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
    for (const std::string& plan : plan_names(arch)) {
      benchmark::RegisterBenchmark(("cold_compile/" + name + "/" + plan).c_str(), cold_compile, arch, plan)
          ->Iterations(1)
          ->Repetitions(11)
          ->ReportAggregatesOnly()
          ->MeasureProcessCPUTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
