// The program as its users meet it: exit codes, what is on stdout and what on stderr.
#include <algorithm>
#include <filesystem>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "generator/source.h"
#include "tests/tools/shell.h"
#include "tools/safetensors.h"

using namespace mlaindex;
using namespace mlaindex::tools;
using Catch::Contains;
using Catch::StartsWith;

TEST_CASE("version and help") {
  const Shell run;
  const Finished version = run({"--version"});
  CHECK(version.exit_code == 0);
  CHECK(version.out == "mlaindex " + std::string(generator_version()) + "\n");
  CHECK_THAT(run({"--help"}).out, Contains("make-case") && Contains("Exit codes"));
  const Finished help = run({"score", "--help"});
  CHECK(help.exit_code == 0);
  CHECK_THAT(help.out, Contains("--device") && Contains("--json") && Contains("--cache-dir"));
}

TEST_CASE("wrong usage ends with 2, says what is wrong and where to look") {
  struct Wrong {
    std::vector<std::string> words;
    const char* message;
  };
  const Shell run;
  const std::string in = run.make_case();
  const Wrong wrong[] = {
      {{}, "--help"},
      {{"frobnicate"}, "'frobnicate'"},
      {{"cache", "burn"}, "'burn'"},
      {{"emit", "--arch", "sm_90a", "--head", "4"}, "'--head'"},
      {{"emit"}, "--arch"},
      {{"emit", "--arch", "sm_80"}, "unknown arch 'sm_80'"},
      {{"compile", "--arch", "sm_90"}, "allowed: sm_90a (H100, H200), sm_100a (B200)"},
      {{"emit", "--arch", "sm_90a", "--heads", "129"}, "num_heads = 129"},
      {{"emit", "--arch", "sm_90a", "--heads", "0"}, "allowed: 1 to 128"},
      {{"emit", "--arch", "sm_90a", "--heads", "many"}, "--heads"},
      {{"emit", "--arch", "sm_90a", "--heads", "99999999999999"}, "--heads"},
      {{"explain", "--arch", "sm_100a", "--depth", "96"}, "depth = 96"},
      {{"explain", "--arch", "sm_100a", "--tokens", "-1", "--keys", "4"}, "--tokens -1"},
      {{"emit", "--arch", "sm_90a", "--mask", "diagonal"}, "unknown mask 'diagonal'"},
      {{"emit", "--arch", "sm_90a", "--score-type", "f16"}, "unknown score type 'f16'"},
      {{"emit", "--arch", "sm_90a", "--fill", "0"}, "unknown fill '0'"},
      {{"emit", "--arch", "sm_90a", "--fold", "f16"}, "unknown fold 'f16'"},
      {{"emit", "--arch", "sm_100a", "--fold", "bf16", "--plan", "seed"}, "plan 'seed' of sm_100a with fold = bf16"},
      {{"emit", "--arch", "sm_90a", "--plan", "best"}, "best"},
      {{"emit", "--arch", "sm_90a", "--op", "topk"}, "unknown op 'topk'"},
      {{"emit", "--arch", "sm_90a", "--layout", "paged", "--page-size", "48"}, "allowed: 16, 32, 64, 128, 256"},
      {{"emit", "--arch", "sm_90a", "--layout", "paged", "--mask", "full"}, "mask full with paged keys"},
      {{"emit", "--arch", "sm_90a", "--layout", "packed"}, "unknown layout 'packed'"},
      {{"emit", "--arch", "sm_90a", "--log-level", "loud"}, "unknown log level 'loud'"},
      {{"compile", "--arch", "sm_90a", "--emit", "sass"}, "unknown --emit 'sass'"},
      {{"compile", "--arch", "sm_90a", "-o", "x"}, "-o goes with --emit"},
      {{"compile", "--arch", "sm_90a", "--emit", "cubin", "--json"}, "a cubin is binary"},
      {{"make-case", run.file("x"), "--paged", "24"}, "page_size = 24"},
      {{"make-case", run.file("x"), "--next-n", "2"}, "--next-n has no meaning"},
      {{"make-case", run.file("x"), "--separate-scales"}, "--separate-scales has no meaning without --paged"},
      {{"make-case", run.file("x"), "--paged", "64", "--tokens", "5"}, "--tokens has no meaning"},
      {{"make-case", run.file("x"), "--heads", "129"}, "num_heads = 129"},
      {{"make-case", run.file("x"), "--mask", "full", "--requests", "2"}, "--requests has no meaning"},
      {{"make-case", run.file("absent/x"), "--tokens", "1", "--keys", "1"}, "could not be written"},
      {{"score"}, "input"},
      {{"score", run.file("absent")}, "no such file"},
      {{"score", in, "--device", "tpu"}, "tpu"},
      {{"score", in, "--device", "cpu", "--repeat", "0"}, "--repeat 0"},
      {{"score", in, "--device", "cpu", "--fold", "half"}, "unknown fold 'half'"},
      {{"score", in, "--device", "cpu", "-o", in}, "is an input"},
      {{"score", in, in, "--device", "cpu", "-o", in}, "not a folder"},
      {{"score", in, in, "--device", "cpu", "-o", run.file("out")}, "two inputs would both go to"},
      {{"score", in, "--device", "cpu", "--arch", "sm_90a", "--plan", "best"}, "'best'"},
      {{"prewarm"}, "nothing to prewarm"},
      {{"prewarm", "--preset", "gpt-2"}, "unknown preset 'gpt-2'"},
      {{"prewarm", "--heads", "129"}, "num_heads = 129"},
      {{"prewarm", "--heads", "4", "--fold", "f16"}, "unknown fold 'f16'"},
      {{"prewarm", "--heads", "4", "--jobs", "-1"}, "--jobs -1"},
      {{"cache"}, "--help"},
      {{"tune", "--heads", "129"}, "num_heads = 129"},
      {{"tune", "--depth", "96"}, "depth = 96"},
      {{"tune", "--page-size", "48"}, "page_size = 48"},
      {{"tune", "--samples", "2"}, "--samples 2"},
      {{"tune", "--check", "-o", run.file("x")}, "-o with --check"},
      {{"tune", "--device", "tpu"}, "unknown device 'tpu'"},
  };
  for (const Wrong& one : wrong) {
    const Finished finished = run(one.words);
    INFO(finished.err);
    CHECK(finished.exit_code == 2);
    if (std::find(one.words.begin(), one.words.end(), "--json") != one.words.end()) parsed(finished);
    CHECK_THAT(finished.err, StartsWith("mlaindex: error: ") && Contains(one.message));
  }
  CHECK_FALSE(std::filesystem::exists(run.file("x")));
}

TEST_CASE("wrong input files end with 2 and name the file and the tensor") {
  const Shell run;
  const std::string in = run.make_case();
  const std::string whole = read_bytes(in);
  write_bytes(run.file("cut"), whole.substr(0, whole.size() / 2));
  Finished finished = run({"score", run.file("cut"), "--device", "cpu"});
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.err, Contains("cut: ") && Contains("truncated"));

  std::string wrong_type = whole;
  wrong_type.replace(wrong_type.find("F8_E4M3"), 7, "F8_E5M2");
  write_bytes(run.file("type"), wrong_type);
  finished = run({"score", run.file("type"), "--device", "cpu", "--json"});
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.err, Contains("dtype F8_E5M2; allowed: F8_E4M3"));
  CHECK(parsed(finished)["error"]["code"] == "invalid_file");

  Safetensors wrong_shape = *read_safetensors(in);
  wrong_shape.tensors.at("k").shape = {35, 64};
  REQUIRE(write_safetensors(run.file("shape"), wrong_shape));
  finished = run({"score", run.file("shape"), "--device", "cpu"});
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.err, Contains("k has shape [35, 64]; expected [N, D of q] = [35, 32]"));
}

TEST_CASE("make-case gives the same bytes for the same seed") {
  const Shell run;
  const std::string first = read_bytes(run.make_case());
  CHECK(read_bytes(run.make_case()) == first);
  CHECK(read_bytes(run.make_case({"--seed", "2"})) != first);
}

TEST_CASE("emit prints the kernel and nothing else, the same each time") {
  const Shell run;
  for (const char* arch : {"sm_90a", "sm_100a"}) {
    const Finished once = run({"emit", "--arch", arch, "--heads", "64", "--depth", "128", "--fill", "-inf"});
    CHECK(once.exit_code == 0);
    CHECK(once.err.empty());
    CHECK_THAT(once.out, Contains("__global__"));
    CHECK(run({"emit", "--arch", arch, "--heads", "64", "--depth", "128", "--fill", "-inf"}).out == once.out);
    CHECK(parsed(run({"emit", "--arch", arch, "--fill", "-inf", "--json"}))["source"] == once.out);
  }
  CHECK_FALSE(std::filesystem::exists(run.file("cache")));
}

TEST_CASE("explain prints the plan, and a bound for a problem size") {
  const Shell run;
  const Finished plan = run({"explain", "--arch", "sm_100a", "--heads", "32"});
  CHECK(plan.exit_code == 0);
  CHECK_THAT(plan.out, Contains("num_heads=32") && !Contains("at least"));
  CHECK_THAT(run({"explain", "--arch", "sm_90a", "--tokens", "2048", "--keys", "8192"}).out, Contains("at least"));
  CHECK(parsed(run({"explain", "--arch", "sm_90a", "--json"}))["plan"].is_string());
}

TEST_CASE("score on the CPU writes scores that check, in both types and fills") {
  const Shell run;
  for (const char* mask : {"full", "ranges", "ragged", "ragged_causal"}) {
    const bool ragged = std::string_view(mask).starts_with("ragged");
    std::vector<std::string> words{"make-case", run.file("in"), "--tokens", "9", "--keys", "33", "--heads", "3",
                                   "--depth", "64", "--mask", mask, "--exact", "--with-scores"};
    if (ragged) words.insert(words.end(), {"--requests", "2"});
    REQUIRE(run(words).exit_code == 0);
    for (const char* type : {"f32", "bf16"}) {
      for (const char* fill : {"none", "-inf"}) {
        const Finished finished = run({"score", run.file("in"), "--device", "cpu", "--check", "--score-type", type,
                                       "--fill", fill, "-o", run.file("out"), "--repeat", "2"});
        INFO(finished.out + finished.err);
        CHECK(finished.exit_code == 0);
        CHECK_THAT(finished.out, Contains("PASS"));
        const Result<Safetensors> out = read_safetensors(run.file("out"));
        REQUIRE(out);
        CHECK(out->tensors.at("scores").dtype == (std::string_view(type) == "f32" ? "F32" : "BF16"));
        CHECK(out->tensors.at("scores").shape == std::vector<std::uint64_t>{9, 33});
      }
    }
  }
}

TEST_CASE("a bf16 fold is scored and checked where it is asked for, and named") {
  if (!has_nvrtc()) return;
  const Shell run;
  for (const bool bf16 : {true, false}) {
    REQUIRE(run({"make-case", run.file("in"), "--tokens", "9", "--keys", "33", "--heads", "16", "--mask", "full",
                 bf16 ? "--exact-bf16" : "--exact", "--with-scores"}).exit_code == 0);
    const Finished finished = run({"score", run.file("in"), "--device", "emulator", "--arch", "sm_90a", "--check", "--fold", "bf16"});
    INFO(finished.out + finished.err);
    CHECK(finished.exit_code == 0);
    CHECK_THAT(finished.out, Contains("f32, fill none, fold bf16") && Contains("_bf16_fold"));
    CHECK_THAT(finished.out, Contains(bf16 ? "PASS: the reference's very bits" : "PASS: every score is within its bound"));
  }
  CHECK(parsed(run({"score", run.file("in"), "--device", "cpu", "--fold", "bf16", "--json"}))["cases"][0]["fold"] == "bf16");
}

TEST_CASE("scores in the file that are wrong fail the check with 1") {
  const Shell run;
  Safetensors file = *read_safetensors(run.make_case({"--with-scores"}));
  file.tensors.at("scores").data.as<float>()[3] += 1.0f;  // token 0 sees key 3: it has 30 keys of history or more
  REQUIRE(write_safetensors(run.file("wrong"), file));
  const Finished finished = run({"score", run.file("wrong"), "--device", "cpu", "--check", "--json"});
  CHECK(finished.exit_code == 1);
  const nlohmann::json json = parsed(finished);
  CHECK(json["passed"] == false);
  CHECK(json["cases"][0]["against_reference"]["passed"] == true);
  CHECK(json["cases"][0]["against_file"]["passed"] == false);
  CHECK(json["cases"][0]["against_file"]["first_mismatch"]["column"] == 3);
}

TEST_CASE("several inputs go to one folder of outputs") {
  const Shell run;
  const std::string in = run.make_case();
  std::filesystem::copy_file(in, run.file("second.safetensors"));
  const Finished finished =
      run({"score", in, run.file("second.safetensors"), "--device", "cpu", "-o", run.file("out")});
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out, Contains("2 of 2 cases"));
  CHECK(read_bytes(run.file("out/case.safetensors")) == read_bytes(run.file("out/second.safetensors")));
}

TEST_CASE("no tokens, no keys: done") {
  const Shell run;
  for (const auto& [tokens, keys] : {std::pair("0", "7"), std::pair("3", "0"), std::pair("0", "0")}) {
    REQUIRE(run({"make-case", run.file("in"), "--tokens", tokens, "--keys", keys, "--mask", "full"}).exit_code == 0);
    const Finished finished = run({"score", run.file("in"), "--check", "--device", "cpu", "-o", run.file("out")});
    INFO(finished.out + finished.err);
    CHECK(finished.exit_code == 0);
  }
}

TEST_CASE("an unknown tensor and an unknown variable are warnings") {
  const Shell run;
  Safetensors file = *read_safetensors(run.make_case());
  file.tensors["row_starts"] = Tensor{"I32", {0}, {}};
  REQUIRE(write_safetensors(run.file("in"), file));
  const Finished finished =
      run({"score", run.file("in"), "--device", "cpu", "--json"}, {{"MLAINDEX_JIT_CACHEDIR", "x"}});
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.err, Contains("warning: ") && Contains("'row_starts'") && Contains("MLAINDEX_JIT_CACHEDIR"));
  CHECK(parsed(finished)["warnings"].size() == 2);
  CHECK(run({"score", run.file("in"), "--device", "cpu", "--log-level", "off"}).err.empty());
}

TEST_CASE("a missing libnvrtc ends with 3 where a kernel is needed, and is a warning where it is not") {
  const Shell run;
  const std::map<std::string, std::string> without{{"MLAINDEX_JIT_NVRTC", "/nonexistent/libnvrtc.so"}};
  for (const std::vector<std::string>& words : {std::vector<std::string>{"compile", "--arch", "sm_90a"},
                                                {"prewarm", "--heads", "4"}, {"doctor"}}) {
    const Finished finished = run(words, without);
    INFO(finished.out + finished.err);
    CHECK(finished.exit_code == 3);
    CHECK_THAT(finished.out + finished.err, Contains("/nonexistent/libnvrtc.so"));
  }
  CHECK(run({"emit", "--arch", "sm_90a"}, without).exit_code == 0);
  CHECK(run({"score", run.make_case(), "--device", "cpu", "--check"}, without).exit_code == 0);
}

TEST_CASE("a missing libcuda ends with 3 for a GPU; auto goes on and says so") {
  const Shell run;
  const std::string in = run.make_case();
  const std::map<std::string, std::string> without{{"MLAINDEX_JIT_CUDA_DRIVER", "/nonexistent/libcuda.so"}};
  const Finished gpu = run({"score", in, "--device", "cuda:0"}, without);
  CHECK(gpu.exit_code == 3);
  CHECK_THAT(gpu.err, Contains("/nonexistent/libcuda.so") && Contains("--device cpu"));
  const Finished any = run({"score", in, "--device", "auto", "--check"}, without);
  INFO(any.out + any.err);
  CHECK(any.exit_code == 0);
  CHECK_THAT(any.out, Contains("/nonexistent/libcuda.so") && Contains("PASS"));
}

TEST_CASE("a machine without a GPU: cuda:0 ends with 3") {
  if (has_gpu()) return;
  const Shell run;
  CHECK(run({"score", run.make_case(), "--device", "cuda:0"}).exit_code == 3);
}

TEST_CASE("compile, then find: the second time the kernel comes from the cache") {
  if (!has_nvrtc()) return;
  const Shell run;
  const std::vector<std::string> words{"compile", "--arch", "sm_90a", "--heads", "4", "--depth", "32", "--json"};
  const nlohmann::json first = parsed(run(words));
  CHECK(first["kernel"]["origin"] == "compiled");
  CHECK(first["kernel"]["frame_bytes"] == 0);
  CHECK(first["counters"]["compiled"] == 1);
  const nlohmann::json second = parsed(run(words));
  CHECK(second["kernel"]["origin"] == "disk");
  CHECK(second["kernel"]["key"] == first["kernel"]["key"]);
  CHECK(second["counters"]["compiled"] == 0);
  CHECK(second["counters"]["hit_disk"] == 1);

  CHECK(
      run({"compile", "--arch", "sm_90a", "--heads", "4", "--depth", "32", "--emit", "cubin", "-o", run.file("cubin")})
          .exit_code == 0);
  CHECK_THAT(read_bytes(run.file("cubin")), StartsWith("\x7f" "ELF"));
  CHECK_THAT(run({"compile", "--arch", "sm_90a", "--heads", "4", "--depth", "32", "--emit", "ptx"}).out,
             Contains(".target sm_90a"));

  const nlohmann::json list = parsed(run({"cache", "list", "--json"}));
  REQUIRE(list["entries"].size() == 1);
  CHECK(list["entries"][0]["key"] == first["kernel"]["key"]);
  CHECK(run({"cache", "verify"}).exit_code == 0);

  const std::string entry = list["entries"][0]["file"];
  std::string bytes = read_bytes(entry);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_bytes(entry, bytes);
  const Finished damaged = run({"cache", "verify"});
  CHECK(damaged.exit_code == 1);
  CHECK_THAT(damaged.out, Contains("damaged") && Contains("0 of 1"));
  CHECK(parsed(run(words))["kernel"]["origin"] == "compiled");
  CHECK(run({"cache", "verify"}).exit_code == 0);
}

TEST_CASE("score under auto: the second run finds the kernel in the cache") {
  if (!has_nvrtc()) return;
  const Shell run;
  const std::string in = run.make_case();
  const Finished first = run({"score", in, "--check"});
  INFO(first.out + first.err);
  CHECK(first.exit_code == 0);
  CHECK_THAT(first.out, Contains("compiled by NVRTC") && Contains("compile ") && Contains("PASS"));
  CHECK_THAT(run({"score", in, "--check"}).out, Contains("found in the cache"));
  CHECK(parsed(run({"score", in, "--json"}))["counters"]["compiled"] == 0);
}

TEST_CASE("a cache that cannot be written is a warning, and the work is done") {
  if (!has_nvrtc()) return;
  const Shell run;
  write_bytes(run.file("file"), "not a folder");
  for (const std::string& cache : {run.file("file"), run.file("file/below")}) {
    const Finished finished = run({"compile", "--arch", "sm_90a", "--heads", "4", "--cache-dir", cache});
    INFO(finished.out + finished.err);
    CHECK(finished.exit_code == 0);
    CHECK_THAT(finished.err, Contains("warning: ") && Contains("memory only"));
    CHECK_THAT(finished.out, Contains("compiled by NVRTC"));
    CHECK(run({"score", run.make_case(), "--cache-dir", cache, "--check"}).exit_code == 0);
    CHECK(run({"prewarm", "--heads", "4", "--cache-dir", cache}).exit_code == 3);
    CHECK_THAT(run({"doctor", "--cache-dir", cache}).out, Contains("--cache-dir or MLAINDEX_JIT_CACHE_DIR"));
  }
  CHECK(run({"cache", "list", "--cache-dir", run.file("file")}).exit_code == 3);
  CHECK(read_bytes(run.file("file")) == "not a folder");
}

TEST_CASE("prewarm compiles every mask, type and fill of a shape once") {
  if (!has_nvrtc()) return;
  const Shell run;
  const std::vector<std::string> words{"prewarm", "--arch", "sm_100a", "--heads", "8",
                                       "--depth", "32",     "--jobs", "2",       "--json"};
  const Finished first = run(words);
  INFO(first.err);
  CHECK(first.exit_code == 0);
  CHECK(parsed(first)["compiled"] == 16 + 12 + 16);  // q_resident; k_resident, which routes choose for no ranges; paged
  CHECK_THAT(first.err, StartsWith("[1/44] sm_100a 8x32 ") && Contains("[44/44]"));
  const nlohmann::json second = parsed(run(words));
  CHECK(second["compiled"] == 0);
  CHECK(second["found"] == 44);
}

TEST_CASE("doctor says what works") {
  const Shell run;
  const Finished finished = run({"doctor"});
  INFO(finished.out);
  CHECK(finished.exit_code == (has_nvrtc() ? 0 : 3));
  CHECK_THAT(finished.out, Contains("NVRTC") && Contains("driver") && Contains("cache") &&
                               Contains("MLAINDEX_JIT_CACHE_DIR") && Contains("verdict"));
  const nlohmann::json json = parsed(run({"doctor", "--json"}));
  CHECK(json["can_compile"] == has_nvrtc());
  CHECK(json["cache"]["ok"] == true);
}

TEST_CASE("a GPU is found, described and used; scores that no kernel wrote fail the check") {
  if (!has_nvrtc()) return;
  const Shell run;
  const std::map<std::string, std::string> fake{
      {"MLAINDEX_JIT_CUDA_DRIVER", MLAINDEX_FAKE_DRIVER}};  // launches do nothing
  const nlohmann::json doctor = parsed(run({"doctor", "--json"}, fake));
  CHECK(doctor["can_run"] == true);
  REQUIRE(doctor["gpus"].size() == 1);
  CHECK_THAT(doctor["gpus"][0].get<std::string>(), StartsWith("cuda:0, ") && Contains("132 SMs"));

  const Finished scored = run({"score", run.make_case(), "--check", "--json"}, fake);
  CHECK(scored.exit_code == 1);
  const nlohmann::json result = parsed(scored);
  CHECK_THAT(result["device"].get<std::string>(), StartsWith("cuda:0 "));
  CHECK(result["cases"][0]["kernel"]["ran"] == true);
  CHECK(result["cases"][0]["against_reference"]["passed"] == false);
  CHECK(run({"score", run.make_case(), "--device", "cuda:7"}, fake).exit_code == 3);
  const Finished other_arch = run({"score", run.make_case(), "--device", "cuda:0", "--arch", "sm_100a"}, fake);
  CHECK(other_arch.exit_code != 0);
  CHECK_THAT(other_arch.err, Contains("sm_100a"));
}

TEST_CASE("results that cannot be written are an error") {
  const Finished finished = run_process({"/bin/sh", "-c", MLAINDEX_PROGRAM " emit --arch sm_90a > /dev/full"}, {});
  CHECK(finished.exit_code == 3);
  CHECK_THAT(finished.err, Contains("could not write to stdout"));
}
