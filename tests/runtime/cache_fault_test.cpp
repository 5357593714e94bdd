// Every system call of the cache fails once, and every tail of calls fails for good: a lookup
// succeeds all the same, and what is published is whole.
#include <catch2/catch.hpp>

#include "runtime/kernel_store.h"
#include "tests/runtime/fake_compiler.h"
#include "tests/runtime/faulty_calls.h"
#include "tests/runtime/message_collector.h"
#include "tests/runtime/temporary_directory.h"

using namespace mlaindex;

namespace {

struct Run {
  bool ok = false;
  KernelOrigin origin = KernelOrigin::memory;
  std::string cubin;
  int calls = 0;
  std::size_t warnings = 0;
  KernelCounters counters;
};

Run lookup(const std::filesystem::path& directory, const std::shared_ptr<FaultyCalls>& calls) {
  MessageCollector collector;
  Config config;
  config.use_cache_dir(directory);
  KernelStore store(config, collector.log(), make_fake_compiler(std::make_shared<FakeCompilerState>()),
                    FileSystem(calls));
  const Result<KernelLookup> result = store.get(Spec{});
  Run run;
  run.ok = result.ok();
  if (result) {
    run.origin = result->origin;
    run.cubin = result->kernel->cubin;
  }
  run.calls = calls->calls;
  run.warnings = collector.messages.size();
  run.counters = store.counters();
  return run;
}

std::shared_ptr<FaultyCalls> failing(int at, int reason, bool persistent) {
  auto calls = std::make_shared<FaultyCalls>();
  calls->fail_at = at;
  calls->reason = reason;
  calls->persistent = persistent;
  return calls;
}

}  // namespace

TEST_CASE("cache faults: a cold lookup survives the failure of any call") {
  const TemporaryDirectory reference;
  const Run expected = lookup(reference / "cache", failing(-1, 0, false));
  REQUIRE(expected.origin == KernelOrigin::compiled);
  REQUIRE(expected.calls > 10);

  for (int reason : {ENOSPC, EDQUOT, EIO, EACCES, EROFS, ESTALE}) {
    for (int at = 0; at < expected.calls; ++at) {
      INFO("call " << at << " errno " << reason);
      const TemporaryDirectory directory;
      const Run run = lookup(directory / "cache", failing(at, reason, false));
      REQUIRE(run.ok);
      CHECK(run.cubin == expected.cubin);
      CHECK(run.warnings <= 1);
      CHECK(count_files(directory / "cache/tmp") == 0);
      if (run.counters.store_failed > 0) CHECK(run.warnings == 1);

      // What is on disk now is whole, or nothing.
      const Run next = lookup(directory / "cache", failing(-1, 0, false));
      REQUIRE(next.ok);
      CHECK(next.cubin == expected.cubin);
      CHECK(next.counters.quarantined == 0);
      CHECK(next.warnings == 0);
    }
  }
}

TEST_CASE("cache faults: a cold lookup survives a disk that fails from any call on") {
  const TemporaryDirectory reference;
  const Run expected = lookup(reference / "cache", failing(-1, 0, false));
  for (int at = 0; at < expected.calls; ++at) {
    INFO("from call " << at);
    const TemporaryDirectory directory;
    const Run run = lookup(directory / "cache", failing(at, EIO, true));
    REQUIRE(run.ok);
    CHECK(run.cubin == expected.cubin);
    CHECK(run.warnings <= 2);  // one for reading, one for writing
    const Run next = lookup(directory / "cache", failing(-1, 0, false));
    CHECK(next.cubin == expected.cubin);
    CHECK(next.counters.quarantined == 0);
  }
}

TEST_CASE("cache faults: a warm lookup survives the failure of any call") {
  const TemporaryDirectory directory;
  const Run cold = lookup(directory.path(), failing(-1, 0, false));
  const Run warm = lookup(directory.path(), failing(-1, 0, false));
  REQUIRE(warm.origin == KernelOrigin::disk);
  for (bool persistent : {false, true}) {
    for (int reason : {EIO, ESTALE, EACCES, ENOENT}) {
      for (int at = 0; at < warm.calls; ++at) {
        INFO("call " << at << " errno " << reason);
        const Run run = lookup(directory.path(), failing(at, reason, persistent));
        REQUIRE(run.ok);
        CHECK(run.cubin == cold.cubin);
        CHECK(run.counters.quarantined == 0);
      }
    }
  }
  CHECK(lookup(directory.path(), failing(-1, 0, false)).origin == KernelOrigin::disk);
}

TEST_CASE("cache faults: a damaged entry is survived, whatever fails while it is moved aside") {
  const TemporaryDirectory reference;
  const Run expected = lookup(reference.path(), failing(-1, 0, false));
  for (int at = 0; at < 2 * expected.calls; ++at) {
    INFO("call " << at);
    const TemporaryDirectory directory;
    (void)lookup(directory.path(), failing(-1, 0, false));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path() / "v1"))
      if (entry.is_regular_file()) std::filesystem::resize_file(entry.path(), 100);
    const Run run = lookup(directory.path(), failing(at, EIO, false));
    REQUIRE(run.ok);
    CHECK(run.cubin == expected.cubin);
    CHECK(count_files(directory.path() / "tmp") == 0);
    const Run next = lookup(directory.path(), failing(-1, 0, false));
    CHECK(next.cubin == expected.cubin);
  }
}
