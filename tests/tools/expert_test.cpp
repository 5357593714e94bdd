// What an expert does to one kernel: reads the passes' report, dumps it, rewrites it, replaces it.
#include <filesystem>

#include <catch2/catch.hpp>

#include "runtime/config.h"
#include "runtime/find_assembler.h"
#include "tests/tools/shell.h"

using namespace mlaindex;
using namespace mlaindex::tools;
using Catch::Contains;
using Catch::StartsWith;

namespace {

bool has_assembler() { return find_assembler(config_from_environment()).ok(); }

std::vector<std::string> compile_words(const char* arch, std::vector<std::string> more) {
  std::vector<std::string> words{"compile", "--arch", arch, "--heads", "8", "--depth", "64"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Texts of the notes of one pass about one subject.
std::vector<std::string> notes(const nlohmann::json& report, const std::string& pass, const std::string& subject) {
  std::vector<std::string> texts;
  for (const auto& one : report.at("passes")) {
    if (one.at("name") != pass) continue;
    CHECK(one.at("version").get<int>() >= 1);
    for (const auto& note : one.at("notes"))
      if (note.at("subject") == subject) texts.push_back(note.at("text"));
  }
  return texts;
}

bool any_starts_with(const std::vector<std::string>& texts, const std::string& start) {
  for (const std::string& text : texts)
    if (text.starts_with(start)) return true;
  return false;
}

}  // namespace

TEST_CASE("the report shows what every pass found, from the compiler and from the cache alike") {
  if (!has_nvrtc()) return;
  const Shell run;
  for (const char* arch : {"sm_90a", "sm_100a"}) {
    const nlohmann::json compiled = parsed(run(compile_words(arch, {"--json"})));
    const nlohmann::json found = parsed(run(compile_words(arch, {"--json"})));
    CHECK(compiled["kernel"]["origin"] == "compiled");
    CHECK(found["kernel"]["origin"] == "disk");
    CHECK(found["passes"] == compiled["passes"]);
    REQUIRE(found["passes"].size() == 4);
    CHECK_THAT(notes(found, "facts", "kernel").at(0), Contains(" registers, 0 bytes of local frame"));
    CHECK_THAT(notes(found, "resource_gate", "budget").at(0), Contains("bytes of shared memory"));
    CHECK(notes(found, "normalise", "digest").at(0).size() == 64);

    const std::vector<std::string> census = notes(found, "verify", "census");
    const bool blackwell = std::string(arch) == "sm_100a";
    CHECK(census.size() >= 3);
    for (const std::string& role : census) {
      const bool producer = role.starts_with("TMA producer");
      CHECK((role.find("TMA load") != std::string::npos) == producer);
      const bool multiplies = role.starts_with(blackwell ? "MMA issue" : "math");
      CHECK((role.find(blackwell ? "tcgen05.mma" : "wgmma.mma_async") != std::string::npos) == multiplies);
    }
    const std::vector<std::string> barriers = notes(found, "verify", "mbarrier");
    CHECK(any_starts_with(barriers, "key_full: init 1 "));
    CHECK(any_starts_with(barriers, "key_empty: init "));
    CHECK(any_starts_with(barriers, "q_full: init "));
    CHECK(any_starts_with(barriers, "accumulator_full: init 1 ") == blackwell);
    CHECK_THAT(notes(found, "verify", "registers").at(0), Contains(" of the pool's "));
    CHECK_THAT(notes(found, "verify", "descriptor").at(0), Contains("swizzle"));
    if (blackwell) CHECK_THAT(notes(found, "verify", "tensor memory").at(0), Contains("allocates 512 columns"));

    const Finished text = run(compile_words(arch, {}));
    CHECK_THAT(text.out, Contains("pass       facts, version ") && Contains("pass       verify, version ") &&
                             Contains("TMA producer") && Contains("key_full"));
  }
}

TEST_CASE("a kernel is dumped, edited, put into the override folder, and run from there") {
  if (!has_nvrtc() || !has_assembler()) return;
  const Shell run;
  const std::string in = run.make_case();
  const std::vector<std::string> score{"score", in, "--device", "emulator", "--arch", "sm_90a", "--check"};
  std::vector<std::string> words = score;
  words.insert(words.end(), {"--dump-dir", run.file("dump")});
  REQUIRE(run(words).exit_code == 0);
  std::map<std::string, std::filesystem::path> dumped;
  for (const auto& entry : std::filesystem::directory_iterator(run.file("dump")))
    dumped[entry.path().extension().string()] = entry.path();
  REQUIRE(dumped.size() == 4);
  CHECK_THAT(read_bytes(dumped.at(".cu")), Contains("__global__"));
  CHECK_THAT(read_bytes(dumped.at(".txt")), Contains("pass verify"));

  const std::filesystem::path folder = run.file("override");
  std::filesystem::create_directory(folder);
  const std::filesystem::path ptx = folder / dumped.at(".ptx").filename();
  std::filesystem::copy_file(dumped.at(".ptx"), ptx);
  const std::map<std::string, std::string> environment{{"MLAINDEX_JIT_OVERRIDE_DIR", folder.string()}};
  const Finished same = run(score, environment);
  INFO(same.out + same.err);
  CHECK(same.exit_code == 0);
  CHECK_THAT(same.out, Contains("cubin      PTX overridden by " + ptx.string()) && Contains("PASS"));
  CHECK_THAT(same.err, Contains("warning: ") && Contains("PTX overridden by " + ptx.string()));

  std::string text = read_bytes(ptx);
  const std::string relu = "max.NaN.f32", other = "min.NaN.f32";
  REQUIRE(text.find(relu) != std::string::npos);
  for (std::size_t at = text.find(relu); at != std::string::npos; at = text.find(relu, at)) text.replace(at, relu.size(), other);
  write_bytes(ptx.string(), text);
  std::vector<std::string> json = score;
  json.push_back("--json");
  const Finished changed = run(json, environment);
  CHECK(changed.exit_code == 1);  // other scores: the PTX of the file is what ran
  const nlohmann::json result = parsed(changed);
  CHECK(result["cases"][0]["kernel"]["origin"] == "overridden");
  CHECK(result["cases"][0]["kernel"]["override"] == "PTX overridden by " + ptx.string());
  CHECK_THAT(result["warnings"].dump(), Contains("overridden by"));
  // The cache still has the original.
  const Finished original = run(score);
  CHECK(original.exit_code == 0);
  CHECK_THAT(original.out, Contains("found in the cache"));

  std::filesystem::remove(ptx);
  const std::filesystem::path cubin = folder / dumped.at(".cubin").filename();
  write_bytes(cubin.string(), "not a cubin");
  const Finished bad = run({"compile", "--arch", "sm_90a", "--heads", "4", "--depth", "32", "--override-dir", folder.string()});
  INFO(bad.out + bad.err);
  CHECK(bad.exit_code == 2);
  CHECK_THAT(bad.err, Contains("override " + cubin.string()) && Contains("remove it from the override folder"));
  std::filesystem::copy_file(dumped.at(".cubin"), cubin, std::filesystem::copy_options::overwrite_existing);
  CHECK_THAT(run({"compile", "--arch", "sm_90a", "--heads", "4", "--depth", "32", "--override-dir", folder.string()}).out,
             Contains("cubin overridden by " + cubin.string()));
}

TEST_CASE("a dump that cannot be written is a warning") {
  if (!has_nvrtc()) return;
  const Shell run;
  write_bytes(run.file("file"), "not a folder");
  const Finished finished = run(compile_words("sm_90a", {"--dump-dir", run.file("file/below")}));
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.err, Contains("warning: kernels are not dumped to "));
}

TEST_CASE("a rewrite changes PTX and cubin, is judged by the passes, and is not kept") {
  if (!has_nvrtc() || !has_assembler()) return;
  const Shell run;
  const std::string before = run(compile_words("sm_100a", {"--emit", "ptx"})).out;
  CHECK_THAT(before, !Contains("L2::cache_hint"));
  const Finished after = run(compile_words("sm_100a", {"--emit", "ptx", "--rewrite", "evict-last=k"}));
  INFO(after.err);
  CHECK(after.exit_code == 0);
  CHECK_THAT(after.out, Contains("L2::cache_hint"));
  const nlohmann::json report = parsed(run(compile_words(
      "sm_100a", {"--rewrite", "max-registers=168", "--rewrite", "strip-debug", "--json"})));
  CHECK(report["rewrite"] == "max_registers=168 strip_debug");
  REQUIRE(report["passes"].size() == 5);
  CHECK(report["passes"][0]["name"] == "rewrite");
  CHECK(report["passes"][0]["settings"] == "max_registers=168 strip_debug");
  CHECK(report["kernel"]["registers"] == 168);
  CHECK_THAT(run(compile_words("sm_100a", {"--rewrite", "max-registers=168"})).out,
             Contains("rewrite    max_registers=168; not kept in the cache"));

  const Finished starved = run(compile_words("sm_100a", {"--rewrite", "max-registers=120"}));
  CHECK(starved.exit_code == 1);  // setmaxnreg could not be granted
  CHECK_THAT(starved.err, Contains("register_pool"));
  const Finished refused = run(compile_words("sm_90a", {"--rewrite", "max-registers=24"}));
  CHECK(refused.exit_code == 3);  // not enough for wgmma
  CHECK_THAT(refused.err, Contains("ptxas ended with status"));
  CHECK(run(compile_words("sm_90a", {"--rewrite", "max-registers=12"})).exit_code == 2);
  CHECK(run(compile_words("sm_90a", {"--rewrite", "registers"})).exit_code == 2);
  const Finished no_assembler = run(compile_words("sm_90a", {"--rewrite", "strip-debug"}),
                                    {{"MLAINDEX_JIT_PTXAS", "/nonexistent/ptxas"}});
  CHECK(no_assembler.exit_code == 3);
  CHECK_THAT(no_assembler.err, Contains("/nonexistent/ptxas") && Contains("MLAINDEX_JIT_PTXAS"));

  CHECK(parsed(run(compile_words("sm_100a", {"--json"})))["kernel"]["origin"] == "disk");
  CHECK(run(compile_words("sm_100a", {"--emit", "ptx"})).out == before);
}
