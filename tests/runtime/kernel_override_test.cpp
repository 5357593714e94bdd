// Dump and override folders of the kernel store.
#include <catch2/catch.hpp>

#include "runtime/find_assembler.h"
#include "runtime/kernel_dump.h"
#include "runtime/kernel_store.h"
#include "tests/runtime/fake_compiler.h"
#include "tests/runtime/faulty_calls.h"
#include "tests/runtime/message_collector.h"
#include "tests/runtime/temporary_directory.h"

using namespace mlaindex;
using Catch::Contains;
using Catch::StartsWith;

namespace {

struct Fixture {
  TemporaryDirectory directory;
  MessageCollector collector;
  std::shared_ptr<FakeCompilerState> compiler = std::make_shared<FakeCompilerState>();
  Config config;
  std::shared_ptr<FileCalls> calls = std::make_shared<FileCalls>();

  Fixture() {
    config.use_cache_dir(directory / "cache");
    std::filesystem::create_directory(directory / "override");
  }

  KernelStore store() { return KernelStore(config, collector.log(), make_fake_compiler(compiler), FileSystem(calls)); }

  // As the compiler makes it, without either folder.
  std::shared_ptr<const CompiledKernel> original() {
    const Config plain;
    const Result<KernelLookup> lookup =
        KernelStore(plain, collector.log(), make_fake_compiler(compiler), FileSystem()).get(Spec{});
    REQUIRE(lookup.ok());
    return lookup->kernel;
  }

  // Puts a file into the override folder under the name of the kernel.
  std::filesystem::path override_with(const std::string& suffix, const std::string& bytes) {
    config.override_dir = directory / "override";
    const std::filesystem::path path = config.override_dir / (kernel_file_stem(*original()) + suffix);
    write_bytes(path, bytes);
    return path;
  }

  std::filesystem::path dumped(const CompiledKernel& kernel, const char* suffix) const {
    return config.dump_dir / (kernel_file_stem(kernel) + suffix);
  }

  bool warned(const std::string& text) const {
    for (const auto& [level, message] : collector.messages)
      if (level == LogLevel::warn && message.find(text) != std::string::npos) return true;
    return false;
  }
};

// Another kernel of the same name, as an expert might write it.
std::string edited_ptx(const CompiledKernel& kernel) {
  std::string text = kernel.ptx;
  const std::size_t end = text.rfind("ret;");
  REQUIRE(end != std::string::npos);
  return text.insert(end, "bar.sync 0;\n\t");
}

}  // namespace

TEST_CASE_METHOD(Fixture, "dump: source, PTX, cubin and report of a kernel that is compiled or found") {
  config.dump_dir = directory / "a/dump";
  for (const KernelOrigin origin : {KernelOrigin::compiled, KernelOrigin::disk}) {
    std::filesystem::remove_all(config.dump_dir);
    KernelStore kernels = store();
    const Result<KernelLookup> lookup = kernels.get(Spec{});
    REQUIRE(lookup.ok());
    CHECK(lookup->origin == origin);
    const CompiledKernel& kernel = *lookup->kernel;
    CHECK(read_bytes(dumped(kernel, ".ptx")) == kernel.ptx);
    CHECK(read_bytes(dumped(kernel, ".cubin")) == kernel.cubin);
    CHECK_THAT(read_bytes(dumped(kernel, ".cu")), Contains("__global__") && Contains(kernel.kernel_name));
    CHECK_THAT(read_bytes(dumped(kernel, ".report.txt")),
               Contains(kernel.key) && Contains("pass facts, version") && Contains("pass resource_gate") &&
                   Contains("pass verify") && Contains("pass normalise") && Contains("census"));
    CHECK(count_files(config.dump_dir) == 4);
    // Once a process and kernel.
    std::filesystem::remove_all(config.dump_dir);
    REQUIRE(kernels.get(Spec{})->origin == KernelOrigin::memory);
    CHECK(count_files(config.dump_dir) == 0);
  }
  CHECK(collector.messages.empty());
}

TEST_CASE_METHOD(Fixture, "dump: without the setting nothing is written") {
  REQUIRE(store().get(Spec{}).ok());
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    CHECK((entry.path().filename() == "cache" || entry.path().filename() == "override"));
}

TEST_CASE_METHOD(Fixture, "dump: every step that fails is one warning, and no half of a file") {
  config.dump_dir = directory / "dump";
  config.cache_enabled = false;
  const auto faulty = std::make_shared<FaultyCalls>();
  calls = faulty;
  REQUIRE(store().get(Spec{}).ok());
  REQUIRE(collector.messages.empty());
  const int all_calls = faulty->calls;
  REQUIRE(all_calls > 16);  // four files: create, write, sync, close, rename, ...
  const std::shared_ptr<const CompiledKernel> whole = original();
  int failed = 0;
  for (int at = 0; at < all_calls; ++at) {
    std::filesystem::remove_all(config.dump_dir);
    collector.messages.clear();
    const auto failing = std::make_shared<FaultyCalls>();
    failing->fail_at = at;
    failing->reason = ENOSPC;
    calls = failing;
    const Result<KernelLookup> lookup = store().get(Spec{});
    INFO("call " << at);
    REQUIRE(lookup.ok());
    CHECK(lookup->origin == KernelOrigin::compiled);
    CHECK(collector.messages.size() <= 1);
    if (warned("kernels are not dumped to '" + config.dump_dir.string() + "'")) ++failed;
    else CHECK(collector.messages.empty());
    std::error_code absent;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(config.dump_dir, absent)) {
      const std::string name = entry.path().filename().string();
      if (!entry.is_regular_file() || name.front() == '.') continue;
      if (name.ends_with(".ptx")) CHECK(read_bytes(entry.path()) == whole->ptx);
      if (name.ends_with(".cubin")) CHECK(read_bytes(entry.path()) == whole->cubin);
    }
  }
  CHECK(failed > 16);
}

TEST_CASE_METHOD(Fixture, "dump: the override folder is no place for it") {
  config.dump_dir = config.override_dir = directory / "override";
  REQUIRE(store().get(Spec{}).ok());
  CHECK(count_files(config.override_dir) == 0);
  CHECK(warned("nothing is dumped"));
}

TEST_CASE_METHOD(Fixture, "override: a cubin takes the place of the compiler's, and stays out of the cache") {
  const std::string other = original()->cubin + std::string(8, '\0');  // the same kernel in other bytes
  const std::filesystem::path path = override_with(".cubin", other);
  for (int i = 0; i < 2; ++i) {
    KernelStore kernels = store();
    const Result<KernelLookup> lookup = kernels.get(Spec{});
    INFO((lookup ? std::string() : lookup.error().text()));
    REQUIRE(lookup.ok());
    CHECK(lookup->origin == KernelOrigin::overridden);
    CHECK(lookup->kernel->cubin == other);
    CHECK(lookup->kernel->ptx == original()->ptx);
    CHECK(lookup->kernel->override_text == "cubin overridden by " + path.string());
    CHECK(warned("cubin overridden by " + path.string()));
    CHECK(kernels.counters().overridden == 1);
    CHECK(kernels.get(Spec{})->kernel == lookup->kernel);
  }
  std::filesystem::remove(path);
  const Result<KernelLookup> again = store().get(Spec{});
  CHECK(again->origin == KernelOrigin::disk);
  CHECK(again->kernel->cubin == original()->cubin);
  CHECK(again->kernel->override_text.empty());
}

TEST_CASE_METHOD(Fixture, "override: PTX is assembled, and needs neither the compiler's nor the cache") {
  if (!find_assembler(config)) {
    WARN("skipped: no ptxas");
    return;
  }
  config.dump_dir = directory / "dump";
  const std::string edited = edited_ptx(*original());
  const std::filesystem::path path = override_with(".ptx", edited);
  compiler->compile_error = Error{ErrorCode::compile_failed, "must not be asked", ""};
  const Result<KernelLookup> lookup = store().get(Spec{});
  INFO((lookup ? std::string() : lookup.error().text()));
  REQUIRE(lookup.ok());
  CHECK(lookup->origin == KernelOrigin::overridden);
  CHECK(lookup->kernel->ptx == edited);
  CHECK_THAT(lookup->kernel->cubin, StartsWith("\x7f" "ELF"));
  CHECK(lookup->kernel->facts.entry == lookup->kernel->kernel_name);
  CHECK(lookup->kernel->source.empty());
  CHECK(warned("PTX overridden by " + path.string()));
  CHECK(count_files(directory / "cache") == 0);
  CHECK(count_files(config.dump_dir) == 0);
}

TEST_CASE_METHOD(Fixture, "override: PTX and cubin together need no assembler") {
  config.ptxas_path = "/nonexistent/ptxas";
  const std::string edited = edited_ptx(*original());
  const std::string cubin = original()->cubin + std::string(8, '\0');
  override_with(".ptx", edited);
  override_with(".cubin", cubin);
  const Result<KernelLookup> lookup = store().get(Spec{});
  REQUIRE(lookup.ok());
  CHECK(lookup->kernel->ptx == edited);
  CHECK(lookup->kernel->cubin == cubin);
  CHECK_THAT(lookup->kernel->override_text, Contains("PTX overridden by ") && Contains(", cubin overridden by "));
}

TEST_CASE_METHOD(Fixture, "override: without an assembler PTX is refused, with what to do") {
  config.ptxas_path = "/nonexistent/ptxas";
  const std::filesystem::path path = override_with(".ptx", edited_ptx(*original()));
  const Result<KernelLookup> lookup = store().get(Spec{});
  REQUIRE_FALSE(lookup.ok());
  CHECK(lookup.error().code == ErrorCode::no_nvrtc);
  CHECK_THAT(lookup.error().message, StartsWith("override " + path.string() + ": ") && Contains("/nonexistent/ptxas"));
  CHECK_THAT(lookup.error().hint, Contains("MLAINDEX_JIT_PTXAS"));
}

TEST_CASE_METHOD(Fixture, "override: files that do not fit fail the lookup and are named") {
  struct Bad {
    const char* suffix;
    std::string bytes;
    ErrorCode code;
    const char* says;
  };
  const std::shared_ptr<const CompiledKernel> good = original();
  const CompileOutput& other_name = empty_kernel(Arch::sm_90a, "other");
  const CompileOutput& other_arch = empty_kernel(Arch::sm_100a, good->kernel_name);
  const auto with = [&](const char* instructions) {
    std::string text = good->ptx;
    return text.insert(text.rfind("ret;"), instructions);
  };
  const std::string no_init =
      with("{ .shared .align 8 .b64 unready; mbarrier.arrive.shared::cta.b64 _, [unready]; }\n\t");
  const std::string no_variable = with("mbarrier.arrive.shared::cta.b64 _, [64];\n\t");
  const Bad bad[] = {
      {".cubin", "not an ELF file", ErrorCode::invalid_file, "facts: "},
      {".cubin", good->cubin.substr(0, good->cubin.size() / 2), ErrorCode::invalid_file, "facts: "},
      {".cubin", "", ErrorCode::invalid_file, "facts: "},
      {".cubin", other_name.cubin, ErrorCode::rejected_by_pass, "entry points of the cubin: other"},
      {".cubin", other_arch.cubin, ErrorCode::rejected_by_pass, "the cubin is for sm_100"},
      {".ptx", "what is this", ErrorCode::invalid_file, "what"},
      {".ptx", "", ErrorCode::invalid_file, ""},
      {".ptx", other_arch.ptx, ErrorCode::invalid_file, "it is for sm_100a"},
      {".ptx", other_name.ptx, ErrorCode::rejected_by_pass, "entry points of the cubin: other"},
      {".ptx", no_variable, ErrorCode::compile_failed, "ptxas ended with status"},
      {".ptx", no_init, ErrorCode::rejected_by_pass, "no mbarrier.init"},
  };
  const bool has_assembler = find_assembler(config).ok();
  for (const Bad& one : bad) {
    const bool assembled = one.code != ErrorCode::invalid_file && std::string(one.suffix) == ".ptx";
    if (assembled && !has_assembler) continue;
    const std::filesystem::path path = override_with(one.suffix, one.bytes);
    KernelStore kernels = store();
    const Result<KernelLookup> lookup = kernels.get(Spec{});
    REQUIRE_FALSE(lookup.ok());
    INFO(lookup.error().text());
    CHECK(lookup.error().code == one.code);
    CHECK_THAT(lookup.error().message, StartsWith("override " + path.string() + ": ") && Contains(one.says));
    CHECK_THAT(lookup.error().hint, Contains("remove it from the override folder"));
    CHECK(kernels.counters().overridden == 0);
    // Not remembered: once the file is gone, the kernel is there.
    std::filesystem::remove(path);
    const Result<KernelLookup> without = kernels.get(Spec{});
    REQUIRE(without.ok());
    CHECK(without->kernel->cubin == good->cubin);
  }
}

TEST_CASE_METHOD(Fixture, "override: a file that others may write, or that is no file, is refused") {
  const std::filesystem::path path = override_with(".cubin", original()->cubin);
  std::filesystem::permissions(path, std::filesystem::perms::others_write, std::filesystem::perm_options::add);
  CHECK(store().get(Spec{}).error().code == ErrorCode::invalid_file);
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  const Result<KernelLookup> lookup = store().get(Spec{});
  REQUIRE_FALSE(lookup.ok());
  CHECK(lookup.error().code == ErrorCode::invalid_file);
  CHECK_THAT(lookup.error().message, Contains(path.string()));
}

TEST_CASE_METHOD(Fixture, "override: a read that fails is an error that names the file, never another kernel") {
  config.cache_enabled = false;
  const std::filesystem::path path = override_with(".cubin", original()->cubin + std::string(8, '\0'));
  const auto counting = std::make_shared<FaultyCalls>();
  calls = counting;
  REQUIRE(store().get(Spec{}).ok());
  const int all_calls = counting->calls;
  REQUIRE(all_calls >= 5);
  int failures = 0;
  for (int at = 0; at < all_calls; ++at) {
    const auto failing = std::make_shared<FaultyCalls>();
    failing->fail_at = at;
    calls = failing;
    const Result<KernelLookup> lookup = store().get(Spec{});
    INFO("call " << at);
    if (lookup) {  // a close after reading
      CHECK(lookup->origin == KernelOrigin::overridden);
      continue;
    }
    ++failures;
    CHECK(lookup.error().code == ErrorCode::invalid_file);
    CHECK_THAT(lookup.error().message, Contains(config.override_dir.string()));
  }
  CHECK(failures >= 4);
}

TEST_CASE_METHOD(Fixture, "override: files of another key are not used, with a warning") {
  config.override_dir = directory / "override";
  const std::shared_ptr<const CompiledKernel> kernel = original();
  write_bytes(config.override_dir / (kernel->kernel_name + "-" + std::string(64, '0') + ".cubin"), kernel->cubin);
  write_bytes(config.override_dir / "notes.txt", "mine");
  CHECK(store().get(Spec{})->origin == KernelOrigin::compiled);
  REQUIRE(collector.messages.size() == 1);
  CHECK_THAT(collector.messages[0].second, Contains("is not used") && Contains(kernel->key));
}

TEST_CASE_METHOD(Fixture, "override: a folder that does not exist is a warning") {
  config.override_dir = directory / "absent";
  CHECK(store().get(Spec{})->origin == KernelOrigin::compiled);
  CHECK(warned("there is no override folder"));
}
