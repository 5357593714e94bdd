#include <filesystem>

#include <unistd.h>

#include "generator/base/format.h"
#include "generator/source.h"
#include "runtime/cache_store.h"
#include "runtime/driver.h"
#include "runtime/nvrtc.h"
#include "tools/commands.h"

namespace mlaindex::tools {
namespace {

// One part of the machine: what it is, or why it does not serve and what to do.
void report(Output& output, const char* label, const std::string& text) { output.row(label, text); }
void report(Output& output, const char* label, const Error& error) {
  output.row(label, "not usable: " + error.message + (error.hint.empty() ? "" : "\n-> " + error.hint));
}

Json error_json(const Error& error) {
  return {{"ok", false}, {"code", error_code_name(error.code)}, {"message", error.message}, {"hint", error.hint}};
}

// Whether at least one arch can be compiled for.
bool examine_nvrtc(Session& session) {
  Output& output = session.output();
  const Result<Nvrtc> nvrtc = Nvrtc::open(session.config());
  if (!nvrtc) {
    report(output, "NVRTC", nvrtc.error());
    output.set("nvrtc", error_json(nvrtc.error()));
    return false;
  }
  const std::string version = fmt::format("{}.{}", nvrtc->major(), nvrtc->minor());
  std::string text = fmt::format("{} at {}", version, nvrtc->path());
  Json archs = Json::object();
  bool any = false;
  for (Arch arch : all_archs) {
    const Status usable = nvrtc->check_arch(arch);
    any = any || usable.ok();
    archs[std::string(arch_name(arch))] = usable.ok();
    text += usable
                ? fmt::format("\ncompiles for {}", arch_name(arch))
                : fmt::format("\nnot for {}: {}\n-> {}", arch_name(arch), usable.error().message, usable.error().hint);
  }
  report(output, "NVRTC", text);
  output.set("nvrtc", {{"ok", any}, {"version", version}, {"path", nvrtc->path()}, {"archs", std::move(archs)}});
  return any;
}

// "NVIDIA H200, compute capability 9.0, 132 SMs, 139 GiB: sm_90a"
Result<std::string> gpu_text(const Driver& driver, int ordinal, bool& usable) {
  cuda::DeviceOrdinal device = 0;
  char name[256] = {};
  int major = 0, minor = 0, num_sms = 0;
  std::size_t bytes = 0;
  const auto attribute = [&](int& value, cuda::DeviceAttribute which) {
    return driver->device_get_attribute(&value, which, device);
  };
  for (const auto code : {driver->device_get(&device, ordinal), driver->device_get_name(name, sizeof name - 1, device),
                          attribute(major, cuda::DeviceAttribute::compute_capability_major),
                          attribute(minor, cuda::DeviceAttribute::compute_capability_minor),
                          attribute(num_sms, cuda::DeviceAttribute::multiprocessor_count),
                          driver->device_total_memory(&bytes, device)}) {
    if (Status status = driver.check(code, "examining the GPU"); !status) return status.error();
  }
  const Result<Arch> arch = arch_of_compute_capability(major, minor);
  usable = usable || arch.ok();
  return fmt::format("cuda:{}, {}, compute capability {}.{}, {} SMs, {} GiB: {}", ordinal, name, major, minor, num_sms,
                     bytes >> 30, arch ? std::string(arch_name(*arch)) : arch.error().text());
}

// Whether there is a GPU that kernels of this library run on.
bool examine_gpus(Session& session) {
  Output& output = session.output();
  const auto driver = Driver::load(session.config().cuda_driver_path);
  if (!driver) {
    report(output, "driver", driver.error());
    output.set("driver", error_json(driver.error()));
    return false;
  }
  report(output, "driver", fmt::format("CUDA {} at {}", (*driver)->version_text(), (*driver)->path()));
  output.set("driver", {{"ok", true}, {"version", (*driver)->version_text()}, {"path", (*driver)->path()}});
  int count = 0;
  if (Status counted = (*driver)->check((**driver)->device_get_count(&count), "counting GPUs"); !counted) {
    report(output, "GPU", counted.error());
    return false;
  }
  bool usable = false;
  Json gpus = Json::array();
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const Result<std::string> text = gpu_text(**driver, ordinal, usable);
    const std::string shown = text ? *text : text.error().text();
    report(output, ordinal == 0 ? "GPU" : "", shown);
    gpus.push_back(shown);
  }
  if (count == 0) report(output, "GPU", "none visible\n-> see nvidia-smi and CUDA_VISIBLE_DEVICES");
  output.set("gpus", std::move(gpus));
  return usable;
}

void examine_cache(Session& session) {
  Output& output = session.output();
  const Config& config = session.config();
  const auto trouble = [&](const std::string& problem) {
    report(output, "cache", problem + "\n-> name a writable folder with --cache-dir or MLAINDEX_JIT_CACHE_DIR;"
                                      "\n   until then each process compiles anew");
    output.set("cache", {{"ok", false}, {"dir", config.cache_dir.string()}, {"problem", problem}});
  };
  if (!config.has_disk_cache()) return trouble(config.cache_enabled ? config.cache_dir_origin : "switched off");
  const Result<CacheStore> store = CacheStore::open(config.cache_dir, FileSystem(), session.log());
  if (!store) return trouble(store.error().text());
  const auto listings = store->list();
  if (!listings) return trouble(listings.error().text());
  if (::access(config.cache_dir.c_str(), W_OK) != 0) return trouble(config.cache_dir.string() + " is not writable");
  std::size_t damaged = 0;
  for (const CacheListing& listing : *listings) damaged += listing.entry ? 0 : 1;
  report(output, "cache",
         fmt::format("{} (from {}), writable, {} {}{}", config.cache_dir.string(), config.cache_dir_origin,
                     listings->size(), listings->size() == 1 ? "kernel" : "kernels",
                     damaged == 0 ? "" : fmt::format(", {} damaged: see 'mlaindex cache verify'", damaged)));
  output.set("cache", {{"ok", true}, {"dir", config.cache_dir.string()}, {"origin", config.cache_dir_origin},
                       {"kernels", listings->size()}, {"damaged", damaged}});
}

void examine_routes(Session& session) {
  Output& output = session.output();
  Json routes = Json::object();
  std::string text;
  for (Arch arch : all_archs) {
    const RouteTable& table = session.routes().table(arch);
    const std::string origin = session.routes().origin(arch);
    text += fmt::format("{}{}: {}, {} {}, {} {}", text.empty() ? "" : "\n", arch_name(arch), origin,
                        table.measured ? "measured on" : "predicted for", table.gpu, table.rows.size(),
                        table.rows.size() == 1 ? "row" : "rows");
    routes[std::string(arch_name(arch))] = {{"origin", origin}, {"gpu", table.gpu}, {"rows", table.rows.size()}};
  }
  report(output, "routes", text);
  output.set("routes", std::move(routes));
}

void print_settings(Session& session) {
  Output& output = session.output();
  Json settings = Json::object();
  output.line("settings, from the environment and the command line:");
  for (const ConfigRow& row : describe(session.config())) {
    output.line(fmt::format("  {:<26}{:<24}  {}", row.variable, row.value, row.meaning));
    settings[row.variable] = row.value;
  }
  output.set("settings", std::move(settings));
}

}  // namespace

Result<ExitCode> run_doctor(Session& session) {
  Output& output = session.output();
  report(output, "mlaindex", std::string(generator_version()));
  output.set("version", generator_version());
  const bool compiles = examine_nvrtc(session);
  const bool runs = examine_gpus(session);
  examine_cache(session);
  examine_routes(session);
  output.line();
  print_settings(session);
  output.line();

  const char* verdict = "neither compiles nor runs kernels here: emit, explain, make-case and score --device cpu work";
  if (compiles && runs) verdict = "everything works";
  if (compiles && !runs)
    verdict = "kernels are compiled and cached here, but no GPU runs them: score --device cpu works";
  if (!compiles && runs) verdict = "kernels run here if they are in the cache; new ones cannot be compiled";
  report(output, "verdict", verdict);
  output.set("can_compile", compiles);
  output.set("can_run", runs);
  return compiles ? ExitCode::done : ExitCode::environment;
}

}  // namespace mlaindex::tools
