#include "runtime/config.h"

#include <catch2/catch.hpp>
#include <map>

using namespace mlaindex;

namespace {

Config read(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> names;
  for (const auto& [name, value] : environment) names.push_back(name);
  return config_from_environment(
      [&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
      },
      names);
}

}  // namespace

TEST_CASE("config: the cache directory is the variable's, else XDG's, else HOME's, else none") {
  CHECK(read({{"HOME", "/home/a"}}).cache_dir == "/home/a/.cache/mlaindex_jit");
  CHECK(read({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "/x"}}).cache_dir == "/x/mlaindex_jit");
  const Config own = read({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "/x"}, {"MLAINDEX_JIT_CACHE_DIR", "/own"}});
  CHECK(own.cache_dir == "/own");
  CHECK(own.cache_dir_origin == "MLAINDEX_JIT_CACHE_DIR");
  for (const char* home : {"/", "//", "", "relative"}) {
    const Config config = read({{"HOME", home}});
    CHECK(config.cache_dir.empty());
    CHECK_FALSE(config.has_disk_cache());
    CHECK(config.warnings.empty());
  }
  CHECK(read({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "relative"}}).cache_dir == "/home/a/.cache/mlaindex_jit");
}

TEST_CASE("config: an explicit directory wins over the environment") {
  Config config = read({{"MLAINDEX_JIT_CACHE_DIR", "/own"}});
  config.use_cache_dir("/given");
  CHECK(config.cache_dir == "/given");
  CHECK(config.cache_dir_origin == "option");
}

TEST_CASE("config: values are read") {
  const Config config = read({{"MLAINDEX_JIT_CACHE", "off"},
                              {"MLAINDEX_JIT_CACHE_DIR", "/own"},
                              {"MLAINDEX_JIT_LOG", "trace"},
                              {"MLAINDEX_JIT_NVRTC", "/n.so"},
                              {"MLAINDEX_JIT_CUDA_DRIVER", "/c.so"},
                              {"MLAINDEX_JIT_NVRTC_CACHE", "1"},
                              {"CUDA_HOME", "/cuda"}});
  CHECK_FALSE(config.cache_enabled);
  CHECK_FALSE(config.has_disk_cache());
  CHECK(config.log_level == LogLevel::trace);
  CHECK(config.nvrtc_path == "/n.so");
  CHECK(config.cuda_driver_path == "/c.so");
  CHECK(config.nvrtc_cache);
  CHECK(config.toolkit_dirs == std::vector<std::filesystem::path>{"/cuda"});
  CHECK(config.warnings.empty());
}

TEST_CASE("config: folders for dumps and overrides, which must not be one") {
  const Config none = read({});
  CHECK(none.dump_dir.empty());
  CHECK(none.override_dir.empty());
  CHECK_FALSE(none.dumps());
  const Config config = read({{"MLAINDEX_JIT_DUMP_DIR", "/d"},
                              {"MLAINDEX_JIT_OVERRIDE_DIR", "/o"},
                              {"MLAINDEX_JIT_PTXAS", "/p/ptxas"},
                              {"MLAINDEX_JIT_NVDISASM", "/p/nvdisasm"},
                              {"MLAINDEX_JIT_ROUTES", "/r"}});
  CHECK(config.dump_dir == "/d");
  CHECK(config.override_dir == "/o");
  CHECK(config.ptxas_path == "/p/ptxas");
  CHECK(config.nvdisasm_path == "/p/nvdisasm");
  CHECK(config.routes_path == "/r");
  CHECK(config.dumps());
  CHECK_FALSE(read({{"MLAINDEX_JIT_DUMP_DIR", "/d"}, {"MLAINDEX_JIT_OVERRIDE_DIR", "/o/../d"}}).dumps());
}

TEST_CASE("config: launches overlap unless that is switched off") {
  CHECK(read({}).overlap_launches);
  CHECK(read({{"MLAINDEX_JIT_OVERLAP", "on"}}).overlap_launches);
  CHECK_FALSE(read({{"MLAINDEX_JIT_OVERLAP", "off"}}).overlap_launches);
}

TEST_CASE("config: a bad value is a warning and leaves the default") {
  const Config config = read({{"MLAINDEX_JIT_CACHE", "maybe"}, {"MLAINDEX_JIT_LOG", "LOUD"}});
  CHECK(config.cache_enabled);
  CHECK(config.log_level == LogLevel::warn);
  REQUIRE(config.warnings.size() == 2);
  CHECK(config.warnings[0] ==
        "MLAINDEX_JIT_CACHE='maybe' is not understood: allowed are on, off, 1 and 0; 'on' is used");
  CHECK(config.warnings[1] == "MLAINDEX_JIT_LOG='LOUD' is not understood: allowed are trace, debug, info, warn, "
                              "error and off; 'warn' is used");
}

TEST_CASE("config: an unknown variable of ours is a warning with the nearest name, others are none of our business") {
  const Config config = read({{"MLAINDEX_JIT_CACHEDIR", "/x"}, {"MLAINDEX_JITTER", "1"}, {"LOG", "1"}});
  REQUIRE(config.warnings.size() == 1);
  CHECK(config.warnings[0] == "unknown environment variable MLAINDEX_JIT_CACHEDIR: it is ignored; did you mean "
                              "MLAINDEX_JIT_CACHE_DIR?");
}

TEST_CASE("config: the nearest name is the one with the fewest edits") {
  const std::pair<const char*, const char*> pairs[] = {{"MLAINDEX_JIT_NVRTC_CASH", "MLAINDEX_JIT_NVRTC_CACHE"},
                                                       {"MLAINDEX_JIT_LGO", "MLAINDEX_JIT_LOG"},
                                                       {"MLAINDEX_JIT_CUDA_DRIVERS", "MLAINDEX_JIT_CUDA_DRIVER"},
                                                       {"MLAINDEX_JIT_NVRT", "MLAINDEX_JIT_NVRTC"},
                                                       {"MLAINDEX_JIT_CACH", "MLAINDEX_JIT_CACHE"}};
  for (const auto& [wrong, right] : pairs) {
    const Config config = read({{wrong, "x"}});
    REQUIRE(config.warnings.size() == 1);
    CHECK(config.warnings[0].ends_with(std::string("did you mean ") + right + "?"));
  }
}

TEST_CASE("config: describe names every variable and the values in effect") {
  const std::vector<ConfigRow> rows = describe(read({{"MLAINDEX_JIT_LOG", "info"}}));
  REQUIRE(rows.size() == 12);
  for (const ConfigRow& row : rows) {
    CHECK(row.variable.starts_with("MLAINDEX_JIT_"));
    CHECK_FALSE(row.meaning.empty());
    CHECK_FALSE(row.value.empty());
  }
  CHECK(rows[0].value == "memory only");
  CHECK(rows[2].value == "info");
}

TEST_CASE("config: that of this process is read without a warning about its own names") {
  const Config config = config_from_environment();
  CHECK(describe(config).size() == 12);
}
