#include "runtime/config.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

namespace mlaindex {
namespace {

constexpr std::string_view prefix = "MLAINDEX_JIT_";
constexpr std::array<std::string_view, 12> known_names{
    "MLAINDEX_JIT_CACHE_DIR",    "MLAINDEX_JIT_CACHE",        "MLAINDEX_JIT_LOG",
    "MLAINDEX_JIT_NVRTC",        "MLAINDEX_JIT_CUDA_DRIVER",  "MLAINDEX_JIT_NVRTC_CACHE",
    "MLAINDEX_JIT_PTXAS",        "MLAINDEX_JIT_NVDISASM",     "MLAINDEX_JIT_DUMP_DIR",
    "MLAINDEX_JIT_OVERRIDE_DIR", "MLAINDEX_JIT_ROUTES",       "MLAINDEX_JIT_OVERLAP"};
constexpr std::string_view cache_folder = "mlaindex_jit";

// Single-character edits that turn one word into the other (Levenshtein).
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t substituted = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string_view nearest_name(std::string_view unknown) {
  return *std::min_element(known_names.begin(), known_names.end(), [&](auto a, auto b) {
    return edit_distance(unknown, a) < edit_distance(unknown, b);
  });
}

std::optional<bool> parse_switch(std::string_view text) {
  if (text == "on" || text == "1") return true;
  if (text == "off" || text == "0") return false;
  return std::nullopt;
}

std::optional<LogLevel> parse_level(std::string_view text) {
  for (LogLevel level : {LogLevel::trace, LogLevel::debug, LogLevel::info, LogLevel::warn,
                         LogLevel::error, LogLevel::off}) {
    if (text == log_level_name(level)) return level;
  }
  return std::nullopt;
}

const char* on_off(bool value) { return value ? "on" : "off"; }

// Reads variables into a Config and collects what is wrong with them.
class Reader {
 public:
  Reader(const GetEnvironment& get, Config& config) : get_(get), config_(config) {}

  // A set and non-empty variable.
  std::optional<std::string> text(const char* name) const {
    const char* value = get_(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  }

  void read_switch(const char* name, bool& target) {
    const auto value = text(name);
    if (!value) return;
    if (const auto parsed = parse_switch(*value)) target = *parsed;
    else warn_value(name, *value, "on, off, 1 and 0", on_off(target));
  }

  void read_level(const char* name, LogLevel& target) {
    const auto value = text(name);
    if (!value) return;
    if (const auto parsed = parse_level(*value)) target = *parsed;
    else warn_value(name, *value, "trace, debug, info, warn, error and off", log_level_name(target));
  }

  void read_cache_dir() {
    if (auto directory = text("MLAINDEX_JIT_CACHE_DIR")) {
      set_cache_dir(*directory, "MLAINDEX_JIT_CACHE_DIR");
    } else if (auto xdg = absolute("XDG_CACHE_HOME")) {
      set_cache_dir(*xdg / cache_folder, "XDG_CACHE_HOME");
    } else if (auto home = absolute("HOME"); home && home->has_relative_path()) {
      set_cache_dir(*home / ".cache" / cache_folder, "HOME");
    } else {
      config_.cache_dir_origin = "none: set MLAINDEX_JIT_CACHE_DIR (HOME is unset, relative or /)";
    }
  }

 private:
  // The XDG base directory specification has relative paths ignored; HOME is held to the same.
  std::optional<std::filesystem::path> absolute(const char* name) const {
    const auto value = text(name);
    if (!value || value->front() != '/') return std::nullopt;
    return std::filesystem::path(*value);
  }

  void set_cache_dir(std::filesystem::path directory, const char* origin) {
    config_.cache_dir = std::move(directory);
    config_.cache_dir_origin = origin;
  }

  void warn_value(const char* name, const std::string& value, std::string_view allowed,
                  std::string_view kept) {
    config_.warnings.push_back(std::string(name) + "='" + value + "' is not understood: allowed are " +
                               std::string(allowed) + "; '" + std::string(kept) + "' is used");
  }

  const GetEnvironment& get_;
  Config& config_;
};

}  // namespace

void Config::use_cache_dir(std::filesystem::path directory) {
  cache_dir = std::move(directory);
  cache_dir_origin = "option";
}

bool Config::dumps() const {
  if (dump_dir.empty()) return false;
  std::error_code absent;
  return dump_dir.lexically_normal() != override_dir.lexically_normal() &&
         !std::filesystem::equivalent(dump_dir, override_dir, absent);
}

Config config_from_environment(const GetEnvironment& get, const std::vector<std::string>& environment_names) {
  Config config;
  Reader reader(get, config);
  reader.read_cache_dir();
  reader.read_switch("MLAINDEX_JIT_CACHE", config.cache_enabled);
  reader.read_level("MLAINDEX_JIT_LOG", config.log_level);
  reader.read_switch("MLAINDEX_JIT_NVRTC_CACHE", config.nvrtc_cache);
  reader.read_switch("MLAINDEX_JIT_OVERLAP", config.overlap_launches);
  config.nvrtc_path = reader.text("MLAINDEX_JIT_NVRTC").value_or("");
  config.cuda_driver_path = reader.text("MLAINDEX_JIT_CUDA_DRIVER").value_or("");
  config.ptxas_path = reader.text("MLAINDEX_JIT_PTXAS").value_or("");
  config.nvdisasm_path = reader.text("MLAINDEX_JIT_NVDISASM").value_or("");
  config.dump_dir = reader.text("MLAINDEX_JIT_DUMP_DIR").value_or("");
  config.override_dir = reader.text("MLAINDEX_JIT_OVERRIDE_DIR").value_or("");
  config.routes_path = reader.text("MLAINDEX_JIT_ROUTES").value_or("");
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (auto directory = reader.text(name)) config.toolkit_dirs.emplace_back(*directory);
  }
  for (const std::string& name : environment_names) {
    if (!name.starts_with(prefix) || std::ranges::find(known_names, name) != known_names.end()) continue;
    config.warnings.push_back("unknown environment variable " + name + ": it is ignored; did you mean " +
                              std::string(nearest_name(name)) + "?");
  }
  return config;
}

Config config_from_environment() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return config_from_environment([](const char* name) -> const char* { return std::getenv(name); }, names);
}

std::vector<ConfigRow> describe(const Config& config) {
  const auto or_default = [](const std::string& value, const char* absent) {
    return value.empty() ? std::string(absent) : value;
  };
  return {
      {"MLAINDEX_JIT_CACHE_DIR", or_default(config.cache_dir.string(), "memory only"),
       "directory of compiled kernels; from " + config.cache_dir_origin},
      {"MLAINDEX_JIT_CACHE", on_off(config.cache_enabled), "on or off: read and write that directory"},
      {"MLAINDEX_JIT_LOG", std::string(log_level_name(config.log_level)),
       "trace, debug, info, warn, error or off"},
      {"MLAINDEX_JIT_NVRTC", or_default(config.nvrtc_path, "searched for"), "path of libnvrtc"},
      {"MLAINDEX_JIT_CUDA_DRIVER", or_default(config.cuda_driver_path, "libcuda.so.1"), "path of libcuda"},
      {"MLAINDEX_JIT_NVRTC_CACHE", on_off(config.nvrtc_cache),
       "on or off: NVRTC's own disk cache beside ours"},
      {"MLAINDEX_JIT_PTXAS", or_default(config.ptxas_path, "searched for"), "path of ptxas, for changed PTX"},
      {"MLAINDEX_JIT_NVDISASM", or_default(config.nvdisasm_path, "searched for"),
       "path of nvdisasm, for explain --model"},
      {"MLAINDEX_JIT_DUMP_DIR", or_default(config.dump_dir.string(), "none"),
       "directory that gets source, PTX, cubin and report of every kernel"},
      {"MLAINDEX_JIT_OVERRIDE_DIR", or_default(config.override_dir.string(), "none"),
       "directory of PTX and cubins that replace those of a kernel"},
      {"MLAINDEX_JIT_ROUTES", or_default(config.routes_path.string(), "none"),
       "route table of 'mlaindex tune' in place of the shipped one of its arch"},
      {"MLAINDEX_JIT_OVERLAP", on_off(config.overlap_launches),
       "on or off: a launch may start while the one before it ends (programmatic dependent launch)"},
  };
}

}  // namespace mlaindex
