// These tests need libnvrtc, as the library does: the set-up of the build installs it.
#include "runtime/compile.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

using namespace mlaindex;

namespace {

constexpr const char* simple_source = "extern \"C\" __global__ void k(float* p) { p[threadIdx.x] = 1; }\n";

std::unique_ptr<Compiler> nvrtc() { return make_nvrtc_compiler(config_from_environment()); }

}  // namespace

TEST_CASE("compile: one compilation gives PTX text and a cubin, on both architectures") {
  const auto compiler = nvrtc();
  for (Arch arch : all_archs) {
    const Result<CompileOutput> output = compiler->compile(arch, "k.cu", simple_source);
    INFO((output ? std::string() : output.error().text()));
    REQUIRE(output.ok());
    CHECK(output->ptx.find(".target " + std::string(arch_name(arch))) != std::string::npos);
    CHECK(output->ptx.find('\0') == std::string::npos);
    CHECK(output->ptx.find(".entry k(") != std::string::npos);
    CHECK(output->cubin.starts_with("\x7f" "ELF"));
    CHECK(output->log.empty());
  }
}

TEST_CASE("compile: the same source gives the same bytes, in any thread") {
  const auto compiler = nvrtc();
  const Result<CompileOutput> expected = compiler->compile(Arch::sm_90a, "k.cu", simple_source);
  REQUIRE(expected.ok());
  std::vector<int> same(4);
  std::vector<std::thread> threads;
  for (int& result : same)
    threads.emplace_back([&] {
      const Result<CompileOutput> output = compiler->compile(Arch::sm_90a, "k.cu", simple_source);
      result = output.ok() && output->cubin == expected->cubin && output->ptx == expected->ptx;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(same == std::vector<int>{1, 1, 1, 1});
}

TEST_CASE("compile: an error carries NVRTC's log, with the file's name and line") {
  const Result<CompileOutput> output = nvrtc()->compile(Arch::sm_90a, "broken.cu", "\n\nint x = y;\n");
  REQUIRE_FALSE(output.ok());
  CHECK(output.error().code == ErrorCode::compile_failed);
  CHECK(output.error().message.find("broken.cu(3): error: identifier \"y\" is undefined") != std::string::npos);
  CHECK(output.error().message.find("nvrtc ") != std::string::npos);
}

TEST_CASE("compile: an error of the assembler carries its words") {
  const Result<CompileOutput> output =
      nvrtc()->compile(Arch::sm_90a, "k.cu", "extern \"C\" __global__ void k() { asm volatile(\"no.such.thing;\"); }\n");
  REQUIRE_FALSE(output.ok());
  CHECK(output.error().code == ErrorCode::compile_failed);
  CHECK(output.error().message.find("ptxas") != std::string::npos);
}

TEST_CASE("compile: nothing is included, so no header is found") {
  const Result<CompileOutput> output = nvrtc()->compile(Arch::sm_90a, "k.cu", "#include <cuda_fp8.h>\n");
  REQUIRE_FALSE(output.ok());
  CHECK(output.error().message.find("cuda_fp8.h") != std::string::npos);
}

TEST_CASE("compile: warnings come back with the output") {
  const Result<CompileOutput> output =
      nvrtc()->compile(Arch::sm_90a, "k.cu", "extern \"C\" __global__ void k() { int unused_name; }\n");
  REQUIRE(output.ok());
  CHECK(output->log.find("unused_name") != std::string::npos);
}

TEST_CASE("compile: a register budget that the assembler ignores is an error") {
  const std::string source =
      "extern \"C\" __global__ void __launch_bounds__(256) k() { asm volatile(\"setmaxnreg.inc.sync.aligned.u32 "
      "240;\"); }\n";
  const Result<CompileOutput> output = nvrtc()->compile(Arch::sm_90a, "k.cu", source);
  REQUIRE_FALSE(output.ok());
  CHECK(output.error().code == ErrorCode::compile_failed);
  CHECK(output.error().message.find("'setmaxnreg' ignored") != std::string::npos);
}

TEST_CASE("compile: missing builtins show NVRTC's log and what to do") {
  Config config;
  config.nvrtc_path = FAKE_NVRTC_12_4;
  const auto compiler = make_nvrtc_compiler(config);
  const Result<CompileOutput> output = compiler->compile(Arch::sm_90a, "k.cu", simple_source);
  REQUIRE_FALSE(output.ok());
  CHECK(output.error().code == ErrorCode::compile_failed);
  CHECK(output.error().message.find("failed to open libnvrtc-builtins") != std::string::npos);
  CHECK(output.error().hint.find("beside libnvrtc") != std::string::npos);
}

TEST_CASE("compile: without NVRTC there is neither identity nor output") {
  Config config;
  config.nvrtc_path = "/nonexistent/libnvrtc.so";
  const auto compiler = make_nvrtc_compiler(config);
  CHECK(compiler->identity(Arch::sm_90a).error().code == ErrorCode::no_nvrtc);
  CHECK(compiler->compile(Arch::sm_90a, "k.cu", simple_source).error().code == ErrorCode::no_nvrtc);
}

TEST_CASE("compile: an architecture that this NVRTC does not know is refused before anything is compiled") {
  Config config;
  config.nvrtc_path = FAKE_NVRTC_12_4;
  const auto compiler = make_nvrtc_compiler(config);
  CHECK(compiler->identity(Arch::sm_90a).ok());
  CHECK(compiler->identity(Arch::sm_100a).error().code == ErrorCode::no_nvrtc);
}
