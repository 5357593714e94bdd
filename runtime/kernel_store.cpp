#include "runtime/kernel_store.h"

#include <atomic>
#include <chrono>
#include <ctime>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "generator/base/format.h"
#include "generator/ptx/pipeline.h"
#include "generator/route.h"
#include "generator/source.h"
#include "runtime/cache_key.h"
#include "runtime/cache_store.h"
#include "runtime/find_assembler.h"
#include "runtime/kernel_dump.h"
#include "runtime/kernel_override.h"
#include "runtime/kernel_passes.h"
#include "runtime/routes.h"

namespace mlaindex {
namespace {

using KernelResult = Result<std::shared_ptr<const CompiledKernel>>;

// Times the steps of one lookup.
class StepClock {
 public:
  explicit StepClock(std::vector<StepTime>& steps) : steps_(steps) {}

  template <class Step>
  auto time(const char* name, Step step) {
    const auto start = std::chrono::steady_clock::now();
    auto result = step();
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    steps_.push_back({name, elapsed.count()});
    return result;
  }

 private:
  std::vector<StepTime>& steps_;
};

}  // namespace

std::string_view kernel_origin_name(KernelOrigin origin) noexcept {
  switch (origin) {
    case KernelOrigin::memory: return "memory";
    case KernelOrigin::disk: return "disk";
    case KernelOrigin::compiled: return "compiled";
    case KernelOrigin::overridden: return "overridden";
  }
  return "unknown";
}

struct KernelStore::State {
  // A spec and the name of its plan: what plans are made from.
  using Request = std::pair<std::uint32_t, std::string>;

  State(Config configuration, Log messages, std::unique_ptr<Compiler> with, FileSystem system)
      : config(std::move(configuration)), log(std::move(messages)), compiler(std::move(with)),
        files(std::move(system)), routes(config, log) {
    std::error_code absent;
    if (!config.override_dir.empty() && !std::filesystem::is_directory(config.override_dir, absent))
      log.warn(fmt::format("there is no override folder '{}': nothing is overridden", config.override_dir.string()));
    if (!config.dump_dir.empty() && !config.dumps()) {
      log.warn(fmt::format("'{}' is the folder for dumps and for overrides: nothing is dumped, as each dump would be "
                           "taken for an override",
                           config.dump_dir.string()));
    }
    if (!config.has_disk_cache()) return;
    Result<CacheStore> opened = CacheStore::open(config.cache_dir, files, log);
    if (opened) cache.emplace(std::move(opened).value());
    else log.warn_once("cache open", "compiled kernels are kept in memory only: " + opened.error().text());
  }

  Result<KernelLookup> get(const Spec& spec, std::string_view plan_name, const ProblemSize& size);
  KernelResult make(const Spec& spec, Plan plan, KernelLookup& lookup) noexcept;
  KernelResult find_or_compile(const Spec& spec, Plan plan, KernelLookup& lookup);
  Status get_original(CompiledKernel& kernel, const CacheKey& key, KernelLookup& lookup, StepClock& clock);
  Status compile(CompiledKernel& kernel, StepClock& clock);
  void dump(const CompiledKernel& kernel, StepClock& clock);
  Result<KernelOverride> find_override(const CompiledKernel& kernel, StepClock& clock);
  Status override_kernel(const KernelOverride& change, CompiledKernel& kernel, StepClock& clock);
  void save(const CompiledKernel& kernel, const CacheKey& key, StepClock& clock);

  const Config config;
  const Log log;
  const std::unique_ptr<Compiler> compiler;
  const FileSystem files;
  const Routes routes;
  std::optional<CacheStore> cache;
  const ptx::Pipeline pipeline = ptx::default_pipeline();

  std::mutex mutex;  // of `kernels`
  std::map<Request, std::shared_future<KernelResult>> kernels;

  struct {
    std::atomic<std::uint64_t> hit_memory{0}, waited{0}, hit_disk{0}, compiled{0}, overridden{0}, failed{0},
        quarantined{0}, store_failed{0};
  } counters;
};

Result<KernelLookup> KernelStore::State::get(const Spec& spec, std::string_view plan_name, const ProblemSize& size) {
  if (Status valid = validate(spec); !valid) return valid.error();
  Result<Plan> plan = find_plan(spec, plan_name, size, routes);
  if (!plan) return plan.error();

  const Request request{packed_key(spec), plan->name};
  std::promise<KernelResult> promise;
  std::shared_future<KernelResult> future;
  bool is_maker = false;
  {
    std::lock_guard lock(mutex);
    auto [slot, is_new] = kernels.try_emplace(request);
    if (is_new) slot->second = promise.get_future().share();
    future = slot->second;
    is_maker = is_new;
  }

  KernelLookup lookup;
  if (is_maker) {
    KernelResult made = make(spec, std::move(plan).value(), lookup);
    if (!made) {  // before the waiters learn of it, so that whoever tries again starts afresh
      std::lock_guard lock(mutex);
      kernels.erase(request);
    }
    promise.set_value(std::move(made));
  } else if (future.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
    counters.hit_memory += 1;
  } else {
    counters.waited += 1;
  }

  const KernelResult& result = future.get();
  if (!result) {
    counters.failed += 1;
    return result.error();
  }
  lookup.kernel = *result;
  return lookup;
}

// A promise that is not kept would leave other threads waiting, so whatever is thrown becomes a value.
KernelResult KernelStore::State::make(const Spec& spec, Plan plan, KernelLookup& lookup) noexcept {
  try {
    return find_or_compile(spec, std::move(plan), lookup);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory, "out of memory", ""};
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::internal, std::string("unexpected failure while a kernel was compiled: ") + thrown.what(),
                 "please report this"};
  }
}

KernelResult KernelStore::State::find_or_compile(const Spec& spec, Plan plan, KernelLookup& lookup) {
  StepClock clock(lookup.steps);
  const Result<std::string> identity = clock.time("find_compiler", [&] { return compiler->identity(spec.arch); });
  if (!identity) return identity.error();
  const CacheKey key = kernel_cache_key(spec, plan, *identity);

  auto kernel = std::make_shared<CompiledKernel>();
  kernel->spec = spec;
  kernel->kernel_name = kernel_name(spec, plan);
  kernel->plan = std::move(plan);
  kernel->key = key.hex;

  const Result<KernelOverride> change = find_override(*kernel, clock);
  if (!change) return change.error();
  // PTX of an override needs nothing of the original.
  if (!change->ptx) {
    if (Status made = get_original(*kernel, key, lookup, clock); !made) return made.error();
  }
  if (change->any()) {
    if (Status applied = override_kernel(*change, *kernel, clock); !applied) return applied.error();
    lookup.origin = KernelOrigin::overridden;
  }
  return std::shared_ptr<const CompiledKernel>(std::move(kernel));
}

// As the compiler made it: from the cache, or now.
Status KernelStore::State::get_original(CompiledKernel& kernel, const CacheKey& key, KernelLookup& lookup,
                                        StepClock& clock) {
  if (cache) {
    CacheStore::Found found = clock.time("cache_read", [&] { return cache->find(key); });
    if (found.quarantined) counters.quarantined += 1;
    if (found.entry) {
      kernel.ptx = std::move(found.entry->ptx);
      kernel.cubin = std::move(found.entry->cubin);
      kernel.facts = std::move(found.entry->facts);
      lookup.origin = KernelOrigin::disk;
      counters.hit_disk += 1;
      dump(kernel, clock);
      return {};
    }
  }
  if (Status compiled = compile(kernel, clock); !compiled) return compiled;
  lookup.origin = KernelOrigin::compiled;
  counters.compiled += 1;
  if (cache) save(kernel, key, clock);
  dump(kernel, clock);
  return {};
}

void KernelStore::State::dump(const CompiledKernel& kernel, StepClock& clock) {
  if (!config.dumps()) return;
  const Status dumped = clock.time("dump", [&] { return dump_kernel(kernel, config.dump_dir, files); });
  if (!dumped) log.warn_once("dump", fmt::format("kernels are not dumped to '{}': {}", config.dump_dir.string(), dumped.error().message));
}

Result<KernelOverride> KernelStore::State::find_override(const CompiledKernel& kernel, StepClock& clock) {
  if (config.override_dir.empty()) return KernelOverride{};
  Result<KernelOverride> change =
      clock.time("override_read", [&] { return mlaindex::find_override(kernel, config.override_dir, files); });
  if (!change) return change;
  for (const std::filesystem::path& path : change->outdated) {
    log.warn_once(path.string(), fmt::format("override '{}' is not used: the key of {} is now {}", path.string(),
                                             kernel.kernel_name, kernel.key));
  }
  return change;
}

Status KernelStore::State::override_kernel(const KernelOverride& change, CompiledKernel& kernel, StepClock& clock) {
  const Result<ptx::Assembler> assembler = find_assembler(config);
  Status applied = clock.time("override", [&] { return apply_override(change, assembler, pipeline, kernel); });
  if (!applied) return applied;
  counters.overridden += 1;
  log.warn(kernel.kernel_name + ": " + kernel.override_text);
  return {};
}

Status KernelStore::State::compile(CompiledKernel& kernel, StepClock& clock) {
  Result<std::string> source = clock.time("generate", [&] { return emit_source(kernel.spec, kernel.plan); });
  if (!source) return source.error();
  kernel.source = std::move(source).value();

  Result<CompileOutput> output = clock.time(
      "compile", [&] { return compiler->compile(kernel.spec.arch, kernel.kernel_name + ".cu", kernel.source); });
  if (!output) return output.error();
  if (!output->log.empty()) log.warn("compiling " + kernel.kernel_name + ":\n" + output->log);

  kernel.ptx = std::move(output->ptx);
  kernel.cubin = std::move(output->cubin);
  const auto passed = clock.time("passes", [&] { return run_passes(pipeline, kernel); });
  if (!passed) return passed.error();
  return {};
}

void KernelStore::State::save(const CompiledKernel& kernel, const CacheKey& key, StepClock& clock) {
  CacheEntry entry;
  entry.key = key;
  entry.spec = to_string(kernel.spec);
  entry.plan_name = kernel.plan.name;
  entry.kernel_name = kernel.kernel_name;
  entry.arch = arch_name(kernel.spec.arch);
  entry.facts = kernel.facts;
  entry.created = static_cast<std::int64_t>(std::time(nullptr));
  entry.cubin = kernel.cubin;
  entry.ptx = kernel.ptx;
  const Status stored = clock.time("cache_write", [&] { return cache->store(entry); });
  if (stored) return;
  counters.store_failed += 1;
  log.warn_once("cache write", "a compiled kernel is kept in memory only: " + stored.error().text());
}

KernelStore::KernelStore(Config config, Log log) {
  std::unique_ptr<Compiler> compiler = make_nvrtc_compiler(config);
  state_ = std::make_unique<State>(std::move(config), std::move(log), std::move(compiler), FileSystem());
}

KernelStore::KernelStore(Config config, Log log, std::unique_ptr<Compiler> compiler, FileSystem files)
    : state_(std::make_unique<State>(std::move(config), std::move(log), std::move(compiler), std::move(files))) {}

KernelStore::~KernelStore() = default;
KernelStore::KernelStore(KernelStore&&) noexcept = default;
KernelStore& KernelStore::operator=(KernelStore&&) noexcept = default;

Result<KernelLookup> KernelStore::get(const Spec& spec, std::string_view plan_name, const ProblemSize& size) {
  return state_->get(spec, plan_name, size);
}

KernelCounters KernelStore::counters() const noexcept {
  const auto& now = state_->counters;
  return {.hit_memory = now.hit_memory,
          .waited = now.waited,
          .hit_disk = now.hit_disk,
          .compiled = now.compiled,
          .overridden = now.overridden,
          .failed = now.failed,
          .quarantined = now.quarantined,
          .store_failed = now.store_failed};
}

const Config& KernelStore::config() const noexcept { return state_->config; }

}  // namespace mlaindex
