// Runs the program in a folder of its own.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "runtime/config.h"
#include "runtime/driver.h"
#include "runtime/nvrtc.h"
#include "tests/tools/process.h"
#include "tests/tools/temporary_folder.h"

namespace mlaindex::tools {

// A folder of its own with an empty cache in it, and no settings from outside but where NVRTC is.
class Shell {
 public:
  Finished operator()(std::vector<std::string> words, std::map<std::string, std::string> environment = {}) const {
    words.insert(words.begin(), MLAINDEX_PROGRAM);
    environment.try_emplace("MLAINDEX_JIT_CACHE_DIR", file("cache"));
    environment.try_emplace("MLAINDEX_JIT_LOG", "");
    environment.try_emplace("MLAINDEX_JIT_CACHE", "");
    environment.try_emplace("MLAINDEX_JIT_DUMP_DIR", "");
    environment.try_emplace("MLAINDEX_JIT_OVERRIDE_DIR", "");
    environment.try_emplace("MLAINDEX_JIT_ROUTES", "");
    return run_process(words, environment);
  }

  std::string file(std::string_view name) const { return folder_.file(name); }

  // A small case, written by the program.
  std::string make_case(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"make-case", file("case.safetensors"), "--tokens", "5", "--keys", "70",
                                   "--heads", "4", "--depth", "32", "--requests", "2"};
    words.insert(words.end(), more.begin(), more.end());
    REQUIRE((*this)(words).exit_code == 0);
    return file("case.safetensors");
  }

 private:
  TemporaryFolder folder_;
};

inline bool has_nvrtc() { return Nvrtc::open(config_from_environment()).ok(); }
inline bool has_gpu() { return Driver::load(config_from_environment().cuda_driver_path).ok(); }

inline nlohmann::json parsed(const Finished& finished) {
  nlohmann::json json = nlohmann::json::parse(finished.out, nullptr, false);
  INFO(finished.out);
  REQUIRE(json.is_object());
  CHECK(json["exit_code"] == finished.exit_code);
  return json;
}

}  // namespace mlaindex::tools
