// The tree keeps to the one-way includes, and the check itself finds what it should.
#include <catch2/catch.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "tests/layering/include_rules.h"

namespace fs = std::filesystem;
using namespace mlaindex::layering;

namespace {

const fs::path root = MLAINDEX_SOURCE_DIR;
constexpr std::array folders{"generator", "emulator", "runtime", "tools", "templates"};

bool is_source(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".h" || extension == ".cpp" || extension == ".cu" || extension == ".cuh" ||
         extension == ".in";
}

std::string text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The includes of every source of a folder, by path from the repository root.
std::map<std::string, std::vector<Include>> includes_below(const char* folder) {
  std::map<std::string, std::vector<Include>> found;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    if (!entry.is_regular_file() || !is_source(entry.path())) continue;
    found[entry.path().lexically_relative(root).generic_string()] =
        includes_of(text_of(entry.path()));
  }
  return found;
}

bool refused(const char* file, const char* directive) {
  const auto includes = includes_of(directive);
  REQUIRE(includes.size() == 1);
  return violation(file, includes.front()).has_value();
}

}  // namespace

TEST_CASE("every include points the allowed way") {
  std::string violations;
  for (const char* folder : folders) {
    const auto sources = includes_below(folder);
    CHECK_FALSE(sources.empty());
    for (const auto& [file, includes] : sources) {
      for (const Include& include : includes) {
        if (const auto reason = violation(file, include)) {
          violations += file + ":" + std::to_string(include.line) + ": " + include.path + ": " +
                        *reason + "\n";
        }
      }
    }
  }
  INFO(violations);
  CHECK(violations.empty());
}

TEST_CASE("every quoted include names a file from the root") {
  std::string missing;
  for (const char* folder : folders) {
    const fs::path base = std::string_view(folder) == "templates" ? root / folder : root;
    for (const auto& [file, includes] : includes_below(folder)) {
      for (const Include& include : includes) {
        if (include.quoted && !fs::exists(base / include.path)) {
          missing += file + ":" + std::to_string(include.line) + ": " + include.path + "\n";
        }
      }
    }
  }
  INFO(missing);
  CHECK(missing.empty());
}

TEST_CASE("an include against the direction is refused") {
  CHECK(refused("generator/base/digest.h", "#include \"generator/spec.h\""));
  CHECK(refused("generator/ptx/parser.cpp", "#include \"generator/plan.h\""));
  CHECK(refused("generator/plan.cpp", "#include \"runtime/config.h\""));
  CHECK(refused("emulator/machine.cpp", "#include \"generator/plan.h\""));
  CHECK(refused("emulator/machine.cpp", "#include \"runtime/device.h\""));
  CHECK(refused("runtime/launcher.cpp", "#include \"emulator/machine.h\""));
  CHECK(refused("runtime/device.h", "#include \"tools/output.h\""));
  CHECK(refused("tools/main.cpp", "#include \"emulator/machine.h\""));
  CHECK(refused("templates/sm90/score.cu", "#include \"sm100/tcgen05.cuh\""));
  CHECK(refused("emulator/machine.cpp", "#include \"generator/ptx/lexer.h\""));
  CHECK(refused("runtime/driver.h", "#include \"../generator/spec.h\""));
  CHECK(refused("runtime/driver.h", "#include \"driver_table.h\""));
}

TEST_CASE("headers that may not be there are refused") {
  CHECK(refused("runtime/driver.cpp", "#include <cuda.h>"));
  CHECK(refused("runtime/nvrtc.h", "  #  include <nvrtc.h>  // types"));
  CHECK(refused("generator/base/digest.h", "#include <llvm/Support/BLAKE3.h>"));
  CHECK(refused("templates/common/types.cuh", "#include <cstdint>"));
}

TEST_CASE("the allowed directions are allowed") {
  CHECK_FALSE(refused("generator/ptx/parser.cpp", "#include \"generator/base/result.h\""));
  CHECK_FALSE(refused("generator/base/digest.cpp", "#include <llvm/Support/BLAKE3.h>"));
  CHECK_FALSE(refused("emulator/machine.cpp", "#include \"generator/ptx/module.h\""));
  CHECK_FALSE(refused("runtime/emulator_device.cpp", "#include \"emulator/machine.h\""));
  CHECK_FALSE(refused("tools/main.cpp", "#include \"runtime/device.h\""));
  CHECK_FALSE(refused("tests/runtime/config_test.cpp", "#include \"tools/output.h\""));
}

TEST_CASE("only directives are includes") {
  CHECK(includes_of("// #include <cuda.h>\nint include;\n#define X 1\n").empty());
  const auto includes = includes_of("#pragma once\n\n#include <vector>\r\n#include \"a/b.h\"");
  REQUIRE(includes.size() == 2);
  CHECK(includes[0].path == "vector");
  CHECK(includes[0].line == 3);
  CHECK_FALSE(includes[0].quoted);
  CHECK(includes[1].path == "a/b.h");
  CHECK(includes[1].line == 4);
  CHECK(includes[1].quoted);
}
