#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "generator/templates.h"
#include "runtime/compile.h"
#include "runtime/config.h"

using namespace mlaindex;

namespace {

// The template as the C++ preprocessor would see it: includes inlined once, its sample plan among
// them, its switches left for the compiler.
std::string with_includes(std::string_view path, std::set<std::string>& seen) {
  const Template* file = find_template(path);
  if (!file) return "#error no template\n";
  std::string text;
  std::istringstream lines{std::string(file->text)};
  for (std::string line; std::getline(lines, line);) {
    if (line == "#pragma once") continue;
    if (!line.starts_with("#include ")) {
      text += line + '\n';
    } else if (const std::string included = line.substr(10, line.size() - 11); seen.insert(included).second) {
      text += with_includes(included, seen);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("every kernel template compiles alone, with its sample plan") {
  const std::unique_ptr<Compiler> compiler = make_nvrtc_compiler(config_from_environment());
  int kernels = 0;
  for (const Template& file : all_templates()) {
    if (!file.path.ends_with(".cu")) continue;
    ++kernels;
    INFO(file.path);
    std::set<std::string> seen;
    const Arch arch = file.path.starts_with("sm90/") ? Arch::sm_90a : Arch::sm_100a;
    const Result<CompileOutput> output = compiler->compile(arch, std::string(file.path), with_includes(file.path, seen));
    if (!output) FAIL(output.error().text());
    CHECK(output->ptx.find("mlaindex_score_sample") != std::string::npos);
  }
  CHECK(kernels == 7);
}
