#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "generator/base/format.h"
#include "runtime/cache_store.h"
#include "tools/commands.h"
#include "tools/kernel_report.h"
#include "tools/presets.h"
#include "tools/progress_bar.h"

namespace mlaindex::tools {
namespace {

constexpr int max_jobs = 256;
constexpr std::string_view cache_hint = "name a writable folder with --cache-dir or MLAINDEX_JIT_CACHE_DIR";

// One kernel.
struct Wanted {
  Spec spec;
  std::string plan;

  bool operator==(const Wanted&) const = default;
};

// Adds the spec in every form of the output, with every plan that a route may choose.
void add_forms(std::vector<Wanted>& kernels, Spec spec) {
  for (std::string_view plan : routable_plans(spec)) {
    for (ScoreType score_type : {ScoreType::f32, ScoreType::bf16}) {
      for (Fill fill : {Fill::none, Fill::negative_infinity}) {
        spec.score_type = score_type;
        spec.fill = fill;
        const Wanted wanted{spec, std::string(plan)};
        if (std::find(kernels.begin(), kernels.end(), wanted) == kernels.end()) kernels.push_back(wanted);
      }
    }
  }
}

// Every kernel that a model of this shape can ask for: whatever the batch, one of them is the route's choice.
Status add_kernels(std::vector<Wanted>& kernels, Spec shape, const std::vector<int>& page_sizes) {
  if (Status valid = validate(shape); !valid) return valid;
  for (Mask mask : {Mask::full, Mask::ranges, Mask::ragged, Mask::ragged_causal}) {
    shape.mask = mask;
    add_forms(kernels, shape);
  }
  shape.layout = Layout::paged;
  for (int page_size : page_sizes) {
    shape.page_size = page_size;
    for (Mask mask : {Mask::context, Mask::context_rows, Mask::ragged, Mask::ragged_causal}) {
      shape.mask = mask;
      if (Status valid = validate(shape); !valid) return valid;
      add_forms(kernels, shape);
    }
  }
  return {};
}

Result<std::vector<Wanted>> kernels_of(const PrewarmOptions& options) {
  if (options.presets.empty() && options.num_heads.empty()) {
    return Error{ErrorCode::invalid_argument, "nothing to prewarm", "give --preset, or --heads and --depth"};
  }
  std::vector<std::pair<int, int>> shapes;  // heads, depth
  for (const std::string& name : options.presets) {
    const Result<Preset> preset = find_preset(name);
    if (!preset) return preset.error();
    shapes.emplace_back(preset->num_heads, preset->depth);
  }
  for (int num_heads : options.num_heads) {
    for (int depth : options.depths) shapes.emplace_back(num_heads, depth);
  }
  const Result<FoldType> fold = parse_fold(options.fold);
  if (!fold) return fold.error();
  std::vector<Wanted> kernels;
  for (const std::string& name : options.archs) {
    const Result<Arch> arch = parse_arch(name);
    if (!arch) return arch.error();
    for (const auto& [num_heads, depth] : shapes) {
      const Spec shape{.arch = *arch, .num_heads = num_heads, .depth = depth, .fold = *fold};
      if (Status added = add_kernels(kernels, shape, options.page_sizes); !added) return added.error();
    }
  }
  return kernels;
}

// Whether every other kernel would fail alike.
bool is_of_the_machine(ErrorCode code) {
  return code != ErrorCode::rejected_by_pass && code != ErrorCode::compile_failed &&
         code != ErrorCode::unsupported_shape;
}

// Looks every kernel up on `jobs` threads; the results are in the order of the specs, and missing
// where a failure of the machine ended the work.
std::vector<std::optional<Result<KernelLookup>>> look_up(KernelStore& kernels, const std::vector<Wanted>& wanted,
                                                         int jobs) {
  std::vector<std::optional<Result<KernelLookup>>> results(wanted.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> hopeless{false};
  ProgressBar progress(wanted.size());
  const auto work = [&] {
    for (std::size_t i = next++; i < wanted.size() && !hopeless; i = next++) {
      const Spec& spec = wanted[i].spec;
      results[i] = kernels.get(spec, wanted[i].plan);
      if (!*results[i] && is_of_the_machine(results[i]->error().code)) hopeless = true;
      progress.advance(fmt::format("{} {}x{} {} {} {}", arch_name(spec.arch), spec.num_heads, spec.depth, mask_name(spec.mask),
                                   score_type_name(spec.score_type), spec.fill == Fill::none ? "" : fill_name(spec.fill)));
    }
  };
  std::vector<std::jthread> threads;
  for (int job = 1; job < jobs; ++job) threads.emplace_back(work);
  work();
  threads.clear();  // joins
  return results;
}

// A prewarm without a place to keep kernels would be for nothing.
Status check_cache(const Session& session) {
  const Config& config = session.config();
  if (!config.has_disk_cache()) {
    return Error{
        ErrorCode::cache_trouble,
        config.cache_enabled ? "there is no cache folder: " + config.cache_dir_origin : "the cache is switched off",
        std::string(cache_hint)};
  }
  const Result<CacheStore> store = CacheStore::open(config.cache_dir, FileSystem(), session.log());
  if (!store) return Error{store.error().code, store.error().text(), std::string(cache_hint)};
  return {};
}

struct Tally {
  std::size_t compiled = 0;
  std::size_t found = 0;
  std::size_t overridden = 0;  // not in the cache
  std::optional<Error> first_failure;
};

// Counts the results and puts them into the JSON object; failures are printed too.
Tally report(Output& output, const std::vector<Wanted>& wanted,
             const std::vector<std::optional<Result<KernelLookup>>>& results) {
  Tally tally;
  Json kernels = Json::array(), failures = Json::array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) continue;
    const Result<KernelLookup>& lookup = *results[i];
    if (lookup) {
      (lookup->origin == KernelOrigin::overridden ? tally.overridden
       : lookup->origin == KernelOrigin::compiled ? tally.compiled
                                                  : tally.found) += 1;
      kernels.push_back(kernel_json(*lookup));
      continue;
    }
    const Error& error = lookup.error();
    if (!tally.first_failure) tally.first_failure = error;
    output.row("failed", to_string(wanted[i].spec));
    failures.push_back(
        {{"spec", to_string(wanted[i].spec)}, {"code", error_code_name(error.code)}, {"message", error.message}});
  }
  output.set("kernels", std::move(kernels));
  output.set("failed", std::move(failures));
  output.set("compiled", tally.compiled);
  output.set("found", tally.found);
  output.set("overridden", tally.overridden);
  output.row("kernels", fmt::format("{} of {} ready: {} compiled, {} found in the cache{}", tally.compiled + tally.found,
                                    wanted.size(), tally.compiled, tally.found,
                                    tally.overridden == 0
                                        ? ""
                                        : fmt::format("; {} overridden, which the cache does not keep", tally.overridden)));
  return tally;
}

}  // namespace

Result<ExitCode> run_prewarm(Session& session, const PrewarmOptions& options) {
  if (options.jobs < 0 || options.jobs > max_jobs) {
    return Error{ErrorCode::invalid_argument, fmt::format("--jobs {}", options.jobs),
                 fmt::format("allowed: 1 to {}", max_jobs)};
  }
  const Result<std::vector<Wanted>> wanted = kernels_of(options);
  if (!wanted) return wanted.error();
  if (Status cache = check_cache(session); !cache) return cache.error();
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int jobs = std::min({options.jobs == 0 ? cores : options.jobs, static_cast<int>(wanted->size()), max_jobs});

  const auto begin = std::chrono::steady_clock::now();
  const auto results = look_up(session.kernels(), *wanted, jobs);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  Output& output = session.output();
  const Tally tally = report(output, *wanted, results);
  const std::string cache_dir = session.config().cache_dir.string();
  output.row("time", fmt::format("{:.1f} s, {} at once", seconds, jobs));
  output.row("cache", cache_dir);
  output.set("seconds", seconds);
  output.set("cache_dir", cache_dir);
  if (tally.first_failure) return *tally.first_failure;
  if (session.kernels().counters().store_failed > 0) {
    return Error{ErrorCode::cache_trouble, "the kernels compile, but could not be kept", std::string(cache_hint)};
  }
  return ExitCode::done;
}

}  // namespace mlaindex::tools
