// Compiled kernels: from memory, from the disk cache, or compiled now.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/result.h"
#include "generator/plan.h"
#include "generator/ptx/cubin_facts.h"
#include "generator/route.h"
#include "generator/spec.h"
#include "runtime/compile.h"
#include "runtime/config.h"
#include "runtime/file.h"
#include "runtime/log.h"

namespace mlaindex {

enum class KernelOrigin { memory, disk, compiled, overridden };

std::string_view kernel_origin_name(KernelOrigin origin) noexcept;

// How long one step of a lookup took. Steps: "find_compiler" (the first one loads NVRTC),
// "override_read", "cache_read", "generate", "compile" (NVRTC), "passes", "cache_write", "dump", "override".
struct StepTime {
  std::string step;
  double milliseconds = 0;
};

struct CompiledKernel {
  Spec spec;
  Plan plan;
  std::string kernel_name;
  std::string key;     // 64 hex digits
  std::string source;  // CUDA text; empty when the kernel came from disk or is overridden
  std::string ptx;
  std::string cubin;
  ptx::KernelFacts facts;
  std::string override_text;  // "cubin overridden by FILE"; empty: as it was compiled
};

struct KernelLookup {
  std::shared_ptr<const CompiledKernel> kernel;
  KernelOrigin origin = KernelOrigin::memory;
  std::vector<StepTime> steps;  // taken by this call: none when the kernel was in memory
};

struct KernelCounters {
  std::uint64_t hit_memory = 0;
  std::uint64_t waited = 0;        // for another thread that was making the same kernel
  std::uint64_t hit_disk = 0;
  std::uint64_t compiled = 0;
  std::uint64_t overridden = 0;    // by files of the override folder
  std::uint64_t failed = 0;        // lookups that ended in an error
  std::uint64_t quarantined = 0;   // damaged cache files moved aside
  std::uint64_t store_failed = 0;  // kernels that could not be written to disk
};

// With a dump folder, every kernel that is compiled or read from disk is written there (kernel_dump.h);
// failures are warnings. With an override folder, files there take the place of PTX or cubin of one
// kernel (kernel_override.h), with a warning; such a kernel is neither written to the disk cache nor
// dumped, and a file that does not fit fails the lookup.
//
// Thread-safe. Each kernel is made once in the process, however many threads ask; a failure is not
// remembered, so a later call tries again. No fault of the disk cache fails a lookup: it costs a
// warning and a compile.
class KernelStore {
 public:
  // Opens the cache directory of `config`, or says once why it works in memory only.
  KernelStore(Config config, Log log);
  // The same over another compiler and other file calls, for tests.
  KernelStore(Config config, Log log, std::unique_ptr<Compiler> compiler, FileSystem files);
  ~KernelStore();
  KernelStore(KernelStore&&) noexcept;
  KernelStore& operator=(KernelStore&&) noexcept;

  // An empty plan name is the route's choice for the spec and the size of the problem. Errors:
  // unsupported_shape, invalid_argument (unknown plan), no_nvrtc, compile_failed, rejected_by_pass,
  // invalid_file (an override).
  Result<KernelLookup> get(const Spec& spec, std::string_view plan_name = {}, const ProblemSize& size = {});

  KernelCounters counters() const noexcept;
  const Config& config() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mlaindex
