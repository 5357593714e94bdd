// explain --model: what it prints, and what it says where something is missing.
#include <filesystem>

#include <catch2/catch.hpp>

#include "runtime/find_disassembler.h"
#include "tests/tools/shell.h"

using namespace mlaindex;
using namespace mlaindex::tools;
using Catch::Contains;

namespace {

using Environment = std::map<std::string, std::string>;

std::vector<std::string> model_words(const char* arch, std::vector<std::string> more) {
  std::vector<std::string> words{"explain", "--arch", arch, "--model"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// A program in nvdisasm's place, which prints a recorded listing whatever it is given.
Environment recorded_disassembler(const Shell& run, const std::string& listing) {
  const std::string program = run.file("nvdisasm");
  write_bytes(program, "#!/bin/sh\nexec cat '" MLAINDEX_SOURCE_DIR "/tests/model/data/" + listing + "'\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  return {{"MLAINDEX_JIT_NVDISASM", program}};
}

}  // namespace

TEST_CASE("the model needs nvdisasm, and says what to install and set") {
  const Shell run;
  const Finished finished = run(model_words("sm_90a", {}), {{"MLAINDEX_JIT_NVDISASM", "/nonexistent/nvdisasm"}});
  CHECK(finished.exit_code == 3);
  CHECK(finished.out.empty());
  CHECK_THAT(finished.err, Contains("/nonexistent/nvdisasm") && Contains("nvidia-cuda-nvdisasm") && Contains("MLAINDEX_JIT_NVDISASM"));
  CHECK_THAT(run({"doctor"}, {{"MLAINDEX_JIT_NVDISASM", "/n/nvdisasm"}}).out, Contains("MLAINDEX_JIT_NVDISASM") && Contains("/n/nvdisasm"));
}

TEST_CASE("options of the model that make no sense") {
  const Shell run;
  const auto refused = [&](const std::vector<std::string>& words, const char* message) {
    const Finished finished = run(words);
    INFO(finished.err);
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, Contains(message));
  };
  refused({"explain", "--arch", "sm_90a", "--gpu", "h200"}, "--gpu has no meaning without --model");
  refused(model_words("sm_90a", {"--gpu", "a100"}), "allowed: h200 (sm_90a), b200 (sm_100a)");
  refused(model_words("sm_90a", {"--gpu", "b200"}), "B200 runs sm_100a");
}

TEST_CASE("loop, time and limits of a kernel") {
  if (!has_nvrtc()) return;
  const Shell run;
  const Environment hopper = recorded_disassembler(run, "sm_90a_h64.sass");
  const std::vector<std::string> sized{"--tokens", "2048", "--keys", "65536"};
  const Finished text = run(model_words("sm_90a", sized), hopper);
  INFO(text.out + text.err);
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, Contains("plan       q_resident") && Contains("model      H200: fitted") &&
                           Contains("322 instructions, 256 of them the fold, for 128 relu elements") &&
                           Contains("2.52 issue slots an element") && Contains("132 CTA(s)") && Contains("TFLOP/s at 1.5") &&
                           Contains("limits     tensor pipe"));
  std::vector<std::string> words = model_words("sm_90a", sized);
  words.push_back("--json");
  const nlohmann::json model = parsed(run(words, hopper)).at("model");
  CHECK(model["gpu"] == "H200");
  CHECK(model["calibrated"] == true);
  CHECK(model["loop"]["elements"] == 128);
  CHECK(model["loop"]["opcodes"]["FMNMX"] == 128);
  CHECK(model["prediction"]["us"].get<double>() == Approx(1726).epsilon(0.1));
  CHECK(model["prediction"]["limiter"] == "tensor pipe");
  CHECK(model["prediction"]["terms_us"].size() == 11);
  CHECK(model["prediction"]["tile_clocks"]["tensor"] == 1024);

  const Finished unsized = run(model_words("sm_90a", {}), hopper);
  CHECK(unsized.exit_code == 0);
  CHECK_THAT(unsized.out, Contains("issue slots an element") && Contains("give --tokens and --keys"));

  const Environment blackwell = recorded_disassembler(run, "sm_100a_h64.sass");
  CHECK_THAT(run(model_words("sm_100a", sized), blackwell).out, Contains("model      B200") && Contains("nobody has timed it") &&
                                                                   Contains("1.21 issue slots an element"));
}

TEST_CASE("a listing without a scoring kernel, and paged keys without requests") {
  if (!has_nvrtc()) return;
  const Shell run;
  const Finished useless = run(model_words("sm_90a", {}), {{"MLAINDEX_JIT_NVDISASM", "/bin/true"}});
  CHECK(useless.exit_code == 2);
  CHECK_THAT(useless.err, Contains("without an instruction"));
  CHECK(run(model_words("sm_90a", {}), {{"MLAINDEX_JIT_NVDISASM", "/bin/false"}}).exit_code == 3);
  const Finished paged = run(model_words("sm_90a", {"--layout", "paged", "--tokens", "64", "--keys", "8192"}),
                             recorded_disassembler(run, "sm_90a_h64.sass"));
  CHECK(paged.exit_code == 2);
  CHECK_THAT(paged.err, Contains("0 requests"));
}

TEST_CASE("the f32 fold of sm_100a leaves the tensor pipe as the limiter, with 32 heads and more") {
  const Result<model::Disassembler> disassembler = find_disassembler(config_from_environment());
  if (!has_nvrtc() || !disassembler) {
    WARN("skipped: it needs NVRTC and nvdisasm");
    return;
  }
  const Shell run;
  for (const char* heads : {"128", "64", "32"}) {
    CAPTURE(heads);
    const Finished finished = run(model_words("sm_100a", {"--heads", heads, "--tokens", "2048", "--keys", "65536", "--json"}),
                                  {{"MLAINDEX_JIT_NVDISASM", disassembler->program()}});
    CHECK(finished.exit_code == 0);
    const nlohmann::json model = parsed(finished).at("model");
    CHECK(model["prediction"]["limiter"] == "tensor pipe");
    CHECK(model["loop"]["slots_per_element"].get<double>() <= 1.25);
  }
}

TEST_CASE("the model reads what the real nvdisasm prints of every default kernel") {
  const Result<model::Disassembler> disassembler = find_disassembler(config_from_environment());
  if (!has_nvrtc() || !disassembler) {
    WARN("skipped: it needs NVRTC and nvdisasm");
    return;
  }
  const Shell run;
  for (const char* arch : {"sm_90a", "sm_100a"}) {
    for (const char* layout : {"contiguous", "paged"}) {
      for (const char* heads : {"64", "8"}) {
        CAPTURE(arch, layout, heads);
        const Finished finished = run(model_words(arch, {"--heads", heads, "--layout", layout, "--tokens", "64", "--keys", "65536",
                                                         "--requests", "64", "--json"}),
                                      {{"MLAINDEX_JIT_NVDISASM", disassembler->program()}});
        CHECK(finished.exit_code == 0);
        const nlohmann::json model = parsed(finished).at("model");
        const double slots = model["loop"]["slots_per_element"];
        CHECK(slots > (std::string(arch) == "sm_90a" ? 2.0 : 1.0));
        CHECK(slots < 9);
        CHECK(model["prediction"]["us"].get<double>() > 2);
      }
    }
  }
}
