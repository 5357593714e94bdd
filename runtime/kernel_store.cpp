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

#include "generator/ptx/pipeline.h"
#include "generator/route.h"
#include "generator/source.h"
#include "runtime/cache_key.h"
#include "runtime/cache_store.h"
#include "runtime/tensor_map.h"

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

// What the plan allows the compiled kernel to be.
ptx::PassContext pass_context(const CompiledKernel& kernel) {
  const ArchLimits& limits = arch_limits(kernel.spec.arch);
  ptx::PassContext context;
  context.entry = kernel.kernel_name;
  context.sm_number = limits.sm_number;
  context.max_registers_per_thread = kernel.plan.entry_registers;
  context.dynamic_shared_bytes = kernel.plan.shared_bytes();
  context.max_shared_bytes = limits.shared_bytes_per_cta;
  // By kernel parameter (generator/kernel_arguments.h). A box does not depend on the problem.
  context.tensor_map_box_bytes = {{0, box_bytes(q_map_params(kernel.spec, kernel.plan, 0, 1))},
                                  {1, box_bytes(k_map_params(kernel.spec, kernel.plan, 0, 1))},
                                  {2, box_bytes(k_scale_map_params(kernel.plan, 0, 1))}};
  return context;
}

}  // namespace

std::string_view kernel_origin_name(KernelOrigin origin) noexcept {
  switch (origin) {
    case KernelOrigin::memory: return "memory";
    case KernelOrigin::disk: return "disk";
    case KernelOrigin::compiled: break;
  }
  return "compiled";
}

struct KernelStore::State {
  // A spec and the name of its plan: what plans are made from.
  using Request = std::pair<std::uint32_t, std::string>;

  State(Config configuration, Log messages, std::unique_ptr<Compiler> with, FileSystem files)
      : config(std::move(configuration)), log(std::move(messages)), compiler(std::move(with)) {
    if (!config.has_disk_cache()) return;
    Result<CacheStore> opened = CacheStore::open(config.cache_dir, std::move(files), log);
    if (opened) cache.emplace(std::move(opened).value());
    else log.warn_once("cache open", "compiled kernels are kept in memory only: " + opened.error().text());
  }

  Result<KernelLookup> get(const Spec& spec, std::string_view plan_name);
  KernelResult make(const Spec& spec, Plan plan, KernelLookup& lookup) noexcept;
  KernelResult find_or_compile(const Spec& spec, Plan plan, KernelLookup& lookup);
  Status compile(CompiledKernel& kernel, StepClock& clock);
  void save(const CompiledKernel& kernel, const CacheKey& key, StepClock& clock);

  const Config config;
  const Log log;
  const std::unique_ptr<Compiler> compiler;
  std::optional<CacheStore> cache;
  const ptx::Pipeline pipeline = ptx::default_pipeline();

  std::mutex mutex;  // of `kernels`
  std::map<Request, std::shared_future<KernelResult>> kernels;

  struct {
    std::atomic<std::uint64_t> hit_memory{0}, waited{0}, hit_disk{0}, compiled{0}, failed{0}, quarantined{0},
        store_failed{0};
  } counters;
};

Result<KernelLookup> KernelStore::State::get(const Spec& spec, std::string_view plan_name) {
  if (Status valid = validate(spec); !valid) return valid.error();
  Result<Plan> plan = plan_name.empty() ? route(spec) : make_plan(spec, plan_name);
  if (!plan) return plan.error();
  if (Status allowed = check_plan(*plan, spec.arch); !allowed) return allowed.error();

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

  if (cache) {
    CacheStore::Found found = clock.time("cache_read", [&] { return cache->find(key); });
    if (found.quarantined) counters.quarantined += 1;
    if (found.entry) {
      kernel->ptx = std::move(found.entry->ptx);
      kernel->cubin = std::move(found.entry->cubin);
      kernel->facts = std::move(found.entry->facts);
      lookup.origin = KernelOrigin::disk;
      counters.hit_disk += 1;
      return std::shared_ptr<const CompiledKernel>(std::move(kernel));
    }
  }

  if (Status compiled = compile(*kernel, clock); !compiled) return compiled.error();
  lookup.origin = KernelOrigin::compiled;
  counters.compiled += 1;
  if (cache) save(*kernel, key, clock);
  return std::shared_ptr<const CompiledKernel>(std::move(kernel));
}

Status KernelStore::State::compile(CompiledKernel& kernel, StepClock& clock) {
  Result<std::string> source = clock.time("generate", [&] { return emit_source(kernel.spec, kernel.plan); });
  if (!source) return source.error();
  kernel.source = std::move(source).value();

  Result<CompileOutput> output = clock.time(
      "compile", [&] { return compiler->compile(kernel.spec.arch, kernel.kernel_name + ".cu", kernel.source); });
  if (!output) return output.error();
  if (!output->log.empty()) log.warn("compiling " + kernel.kernel_name + ":\n" + output->log);

  ptx::Artifact artifact;
  artifact.ptx = std::move(output->ptx);
  artifact.cubin = std::move(output->cubin);
  const ptx::PassContext context = pass_context(kernel);
  if (Status passed = clock.time("passes", [&] { return pipeline.run(artifact, context); }); !passed) return passed;
  // The resource gate let exactly one kernel through.
  if (artifact.facts.kernels.size() != 1)
    return Error{ErrorCode::internal, "the passes let through a cubin without one kernel", "please report this"};
  kernel.facts = std::move(artifact.facts.kernels.front());
  kernel.ptx = std::move(artifact.ptx);
  kernel.cubin = std::move(artifact.cubin);
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

Result<KernelLookup> KernelStore::get(const Spec& spec, std::string_view plan_name) {
  return state_->get(spec, plan_name);
}

KernelCounters KernelStore::counters() const noexcept {
  const auto& now = state_->counters;
  return {.hit_memory = now.hit_memory,
          .waited = now.waited,
          .hit_disk = now.hit_disk,
          .compiled = now.compiled,
          .failed = now.failed,
          .quarantined = now.quarantined,
          .store_failed = now.store_failed};
}

const Config& KernelStore::config() const noexcept { return state_->config; }

}  // namespace mlaindex
