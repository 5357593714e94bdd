#include "runtime/kernel_store.h"

#include <catch2/catch.hpp>
#include <thread>

#include "tests/runtime/fake_compiler.h"
#include "tests/runtime/message_collector.h"
#include "tests/runtime/temporary_directory.h"

using namespace mlaindex;

namespace {

Config in_directory(const std::filesystem::path& directory) {
  Config config;
  if (!directory.empty()) config.use_cache_dir(directory);
  return config;
}

struct Fixture {
  TemporaryDirectory directory;
  MessageCollector collector;
  std::shared_ptr<FakeCompilerState> compiler = std::make_shared<FakeCompilerState>();

  KernelStore store() {
    return KernelStore(in_directory(directory.path()), collector.log(), make_fake_compiler(compiler), FileSystem());
  }
  KernelStore memory_store() {
    return KernelStore(in_directory({}), collector.log(), make_fake_compiler(compiler), FileSystem());
  }
};

Spec spec_of(Arch arch = Arch::sm_90a) {
  Spec spec;
  spec.arch = arch;
  return spec;
}

std::vector<std::string> step_names(const KernelLookup& lookup) {
  std::vector<std::string> names;
  for (const StepTime& step : lookup.steps) names.push_back(step.step);
  return names;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "kernel store: compiled, then from memory, then from disk in another process") {
  KernelStore first = store();
  const Result<KernelLookup> compiled = first.get(spec_of());
  REQUIRE(compiled.ok());
  CHECK(compiled->origin == KernelOrigin::compiled);
  CHECK(step_names(*compiled) == std::vector<std::string>{"find_compiler", "cache_read", "generate", "compile",
                                                          "passes", "cache_write"});
  CHECK_FALSE(compiled->kernel->source.empty());
  CHECK(compiled->kernel->facts.entry == compiled->kernel->kernel_name);

  const Result<KernelLookup> again = first.get(spec_of());
  CHECK(again->origin == KernelOrigin::memory);
  CHECK(again->kernel == compiled->kernel);
  CHECK(again->steps.empty());

  KernelStore second = store();
  const Result<KernelLookup> read = second.get(spec_of());
  CHECK(read->origin == KernelOrigin::disk);
  CHECK(step_names(*read) == std::vector<std::string>{"find_compiler", "cache_read"});
  CHECK(read->kernel->cubin == compiled->kernel->cubin);
  CHECK(read->kernel->ptx == compiled->kernel->ptx);
  CHECK(read->kernel->key == compiled->kernel->key);
  CHECK(read->kernel->facts.code_bytes == compiled->kernel->facts.code_bytes);
  CHECK(read->kernel->source.empty());

  CHECK(compiler->compiles == 1);
  CHECK(first.counters().compiled == 1);
  CHECK(first.counters().hit_memory == 1);
  CHECK(second.counters().hit_disk == 1);
  CHECK(collector.messages.empty());
}

TEST_CASE_METHOD(Fixture, "kernel store: the default plan and the same plan by name are one kernel") {
  KernelStore kernels = store();
  const Result<KernelLookup> by_default = kernels.get(spec_of());
  REQUIRE(by_default.ok());
  CHECK(kernels.get(spec_of(), by_default->kernel->plan.name)->kernel == by_default->kernel);
}

TEST_CASE_METHOD(Fixture, "kernel store: another compiler is another key") {
  REQUIRE(store().get(spec_of()).ok());
  compiler->identity = "fake 1.1";
  CHECK(store().get(spec_of())->origin == KernelOrigin::compiled);
  compiler->identity = "fake 1.0";
  CHECK(store().get(spec_of())->origin == KernelOrigin::disk);
}

TEST_CASE_METHOD(Fixture, "kernel store: many threads that ask for one kernel compile it once") {
  compiler->duration = std::chrono::milliseconds(50);
  KernelStore kernels = memory_store();
  std::vector<std::shared_ptr<const CompiledKernel>> got(8);
  std::vector<std::thread> threads;
  for (auto& kernel : got)
    threads.emplace_back([&] {
      const Result<KernelLookup> lookup = kernels.get(spec_of());
      if (lookup) kernel = lookup->kernel;
    });
  for (std::thread& thread : threads) thread.join();
  REQUIRE(got.front() != nullptr);
  for (const auto& kernel : got) CHECK(kernel == got.front());
  CHECK(compiler->compiles == 1);
  const KernelCounters counters = kernels.counters();
  CHECK(counters.compiled == 1);
  CHECK(counters.waited + counters.hit_memory == 7);
}

TEST_CASE_METHOD(Fixture, "kernel store: a failure reaches every waiter and is not remembered") {
  compiler->duration = std::chrono::milliseconds(50);
  compiler->compile_error = Error{ErrorCode::compile_failed, "no", ""};
  KernelStore kernels = store();
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const Result<KernelLookup> lookup = kernels.get(spec_of());
      failures += !lookup && lookup.error().code == ErrorCode::compile_failed ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 4);
  CHECK(kernels.counters().failed == 4);
  CHECK(count_files(directory.path()) == 0);

  compiler->compile_error.reset();
  CHECK(kernels.get(spec_of())->origin == KernelOrigin::compiled);
}

TEST_CASE_METHOD(Fixture, "kernel store: a compiler that throws is an error, and nobody waits for ever") {
  compiler->throws = true;
  KernelStore kernels = store();
  for (int i = 0; i < 2; ++i) {
    const Result<KernelLookup> lookup = kernels.get(spec_of());
    REQUIRE_FALSE(lookup.ok());
    CHECK(lookup.error().code == ErrorCode::internal);
    CHECK(lookup.error().message.find("thrown by the compiler") != std::string::npos);
  }
}

TEST_CASE_METHOD(Fixture, "kernel store: what the passes refuse is neither returned nor stored") {
  KernelStore kernels = store();
  compiler->truncate_cubin = true;
  CHECK_FALSE(kernels.get(spec_of()).ok());
  compiler->truncate_cubin = false;
  compiler->entry_suffix = "_other";
  const Result<KernelLookup> other_name = kernels.get(spec_of());
  REQUIRE_FALSE(other_name.ok());
  CHECK(other_name.error().code == ErrorCode::rejected_by_pass);
  CHECK(count_files(directory.path()) == 0);
}

TEST_CASE_METHOD(Fixture, "kernel store: wrong requests name what is allowed and never reach the compiler") {
  KernelStore kernels = store();
  Spec spec = spec_of();
  spec.num_heads = 129;
  CHECK(kernels.get(spec).error().code == ErrorCode::unsupported_shape);
  CHECK(kernels.get(spec_of(), "no_such_plan").error().code == ErrorCode::invalid_argument);
  CHECK(compiler->compiles == 0);
}

TEST_CASE_METHOD(Fixture, "kernel store: warnings of the compiler are shown") {
  compiler->log = "k.cu(1): warning: strange";
  REQUIRE(store().get(spec_of()).ok());
  REQUIRE(collector.messages.size() == 1);
  CHECK(collector.messages[0].second.find("strange") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "kernel store: without a compiler the error is the compiler's") {
  compiler->identity_error = Error{ErrorCode::no_nvrtc, "none", "install it"};
  CHECK(store().get(spec_of()).error().code == ErrorCode::no_nvrtc);
  Config config = in_directory(directory.path());
  config.nvrtc_path = "/nonexistent/libnvrtc.so";
  CHECK(KernelStore(config, collector.log()).get(spec_of()).error().code == ErrorCode::no_nvrtc);
}

TEST_CASE_METHOD(Fixture, "kernel store: with the cache off nothing is read or written") {
  Config config = in_directory(directory / "cache");
  config.cache_enabled = false;
  KernelStore kernels(config, collector.log(), make_fake_compiler(compiler), FileSystem());
  CHECK(step_names(*kernels.get(spec_of())) ==
        std::vector<std::string>{"find_compiler", "generate", "compile", "passes"});
  CHECK_FALSE(std::filesystem::exists(directory / "cache"));
}

TEST_CASE_METHOD(Fixture, "kernel store: a directory that cannot be used costs one warning") {
  KernelStore kernels(in_directory("/proc/none"), collector.log(), make_fake_compiler(compiler), FileSystem());
  CHECK(kernels.get(spec_of())->origin == KernelOrigin::compiled);
  CHECK(kernels.get(spec_of())->origin == KernelOrigin::memory);
  REQUIRE(collector.messages.size() == 1);
  CHECK(collector.messages[0].second.starts_with("compiled kernels are kept in memory only"));
}

TEST_CASE("kernel store: NVRTC compiles the generated source of both architectures without a spill") {
  const TemporaryDirectory directory;
  MessageCollector collector;
  Config config = config_from_environment();
  config.use_cache_dir(directory.path());
  for (Arch arch : all_archs) {
    for (const std::string& plan : plan_names(arch)) {
      const Result<KernelLookup> compiled = KernelStore(config, collector.log()).get(spec_of(arch), plan);
      INFO((compiled ? std::string() : compiled.error().text()));
      REQUIRE(compiled.ok());
      CHECK(compiled->origin == KernelOrigin::compiled);
      CHECK(compiled->kernel->facts.frame_bytes == 0);
      CHECK(compiled->kernel->facts.registers > 0);
      const Result<KernelLookup> read = KernelStore(config, collector.log()).get(spec_of(arch), plan);
      CHECK(read->origin == KernelOrigin::disk);
      CHECK(read->kernel->cubin == compiled->kernel->cubin);
    }
  }
  CHECK(collector.messages.empty());
}
