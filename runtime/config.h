// What the environment and the caller set: read once, printable, never read again.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/log.h"

namespace mlaindex {

struct Config {
  std::filesystem::path cache_dir;    // absolute or relative to the working directory; empty: memory only
  std::string cache_dir_origin;       // "MLAINDEX_JIT_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "option" or why there is none
  bool cache_enabled = true;          // false: neither read nor written
  LogLevel log_level = LogLevel::warn;
  std::string nvrtc_path;             // of libnvrtc; empty: searched for
  std::string cuda_driver_path;       // of libcuda; empty: libcuda.so.1
  std::string ptxas_path;             // of ptxas, which assembles changed PTX; empty: searched for
  std::string nvdisasm_path;          // of nvdisasm, for the cycle model; empty: searched for
  std::filesystem::path dump_dir;     // every kernel's source, PTX, cubin and report go there; empty: nowhere
  std::filesystem::path override_dir; // PTX and cubins there replace those of one kernel; empty: none
  std::filesystem::path routes_path;  // a route table in place of the shipped one of its arch; empty: none
  bool overlap_launches = true;       // a launch may start while the one before it ends: see Overlap in launcher.h
  bool nvrtc_cache = false;           // true: NVRTC's own disk cache too (12.9 and later have one). Off, since a
                                      // hit there does not run the assembler, and its warnings are lost
  std::vector<std::filesystem::path> toolkit_dirs;  // CUDA_HOME, CUDA_PATH
  std::vector<std::string> warnings;  // unknown names and bad values, for the caller to log

  // An explicit choice, such as --cache-dir: wins over the environment.
  void use_cache_dir(std::filesystem::path directory);
  // There is a dump folder, and it is not the override folder: a dump would else become an override.
  bool dumps() const;
  // The cache is on and has a place.
  bool has_disk_cache() const noexcept { return cache_enabled && !cache_dir.empty(); }
};

// Value of an environment variable, or nullptr.
using GetEnvironment = std::function<const char*(const char* name)>;

// `environment_names` are the names of all variables: those that start with MLAINDEX_JIT_ and are
// unknown become warnings, as do bad values, which leave the default. Never fails.
Config config_from_environment(const GetEnvironment& get, const std::vector<std::string>& environment_names);

// Of this process.
Config config_from_environment();

// One setting, for `doctor`.
struct ConfigRow {
  std::string variable;  // "MLAINDEX_JIT_CACHE_DIR"
  std::string value;     // in effect, as text
  std::string meaning;   // what it sets and what is allowed
};

std::vector<ConfigRow> describe(const Config& config);

}  // namespace mlaindex
