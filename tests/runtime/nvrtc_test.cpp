// These tests need libnvrtc, as the library does: the set-up of the build installs it.
#include "runtime/nvrtc.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/compile.h"
#include "tests/runtime/temporary_directory.h"

using namespace mlaindex;

namespace {

Config with_library(const std::string& path) {
  Config config;
  config.nvrtc_path = path;
  return config;
}

Error opening_error(const std::string& path) {
  const Result<Nvrtc> nvrtc = Nvrtc::open(with_library(path));
  REQUIRE_FALSE(nvrtc.ok());
  CHECK(nvrtc.error().code == ErrorCode::no_nvrtc);
  CHECK(nvrtc.error().message.find("MLAINDEX_JIT_NVRTC='" + path + "'") != std::string::npos);
  CHECK(nvrtc.error().hint.find("pip install nvidia-cuda-nvrtc") != std::string::npos);
  return nvrtc.error();
}

}  // namespace

TEST_CASE("nvrtc: the installed one is found and knows both architectures") {
  const Result<Nvrtc> nvrtc = Nvrtc::open(config_from_environment());
  INFO((nvrtc ? std::string() : nvrtc.error().text()));
  REQUIRE(nvrtc.ok());
  CHECK(nvrtc->is_at_least(12, 8));
  for (Arch arch : all_archs) CHECK(nvrtc->check_arch(arch).ok());
  const std::string version = std::to_string(nvrtc->major()) + "." + std::to_string(nvrtc->minor());
  CHECK(nvrtc->identity().starts_with("nvrtc " + version + " "));
  CHECK(nvrtc->identity().size() >= std::string("nvrtc 13.0 ").size() + 40);
  CHECK(std::ranges::find(nvrtc->supported_archs(), 90) != nvrtc->supported_archs().end());
  CHECK(nvrtc->path().find("libnvrtc.so") != std::string::npos);
}

TEST_CASE("nvrtc: a path that does not exist, or is no library, is named") {
  const TemporaryDirectory directory;
  CHECK(opening_error((directory / "missing.so").string()).message.find("No such file") != std::string::npos);
  write_bytes(directory / "text.so", "text");
  CHECK(opening_error((directory / "text.so").string()).message.find("file too short") != std::string::npos);
}

TEST_CASE("nvrtc: a library that is not NVRTC is told by what it lacks") {
  CHECK(opening_error(NOT_NVRTC).message.find("is not a usable NVRTC: it has no nvrtcVersion") != std::string::npos);
}

TEST_CASE("nvrtc: one that is too old for an architecture says which version is needed") {
  const Result<Nvrtc> old = Nvrtc::open(with_library(FAKE_NVRTC_11_8));
  REQUIRE(old.ok());
  const Error error = old->check_arch(Arch::sm_90a).error();
  CHECK(error.code == ErrorCode::no_nvrtc);
  CHECK(error.message == "NVRTC 11.8 (" + std::string(FAKE_NVRTC_11_8) +
                             ") cannot compile for sm_90a, which needs NVRTC 12.0 or newer");
  CHECK(error.hint.find("install NVRTC 12.8 or newer") != std::string::npos);

  const Result<Nvrtc> middling = Nvrtc::open(with_library(FAKE_NVRTC_12_4));
  REQUIRE(middling.ok());
  CHECK(middling->check_arch(Arch::sm_90a).ok());
  CHECK(middling->check_arch(Arch::sm_100a).error().message.find("needs NVRTC 12.8") != std::string::npos);
}

TEST_CASE("nvrtc: the identity tells builds apart and does not depend on where the library lies") {
  const TemporaryDirectory directory;
  for (const char* original : {FAKE_NVRTC_11_8, FAKE_NVRTC_12_4}) {  // the second has no build id
    const std::filesystem::path copy = directory / std::filesystem::path(original).filename();
    std::filesystem::copy_file(original, copy);
    const Result<Nvrtc> here = Nvrtc::open(with_library(original));
    const Result<Nvrtc> there = Nvrtc::open(with_library(copy.string()));
    REQUIRE(here.ok());
    REQUIRE(there.ok());
    CHECK(here->identity() == there->identity());
    CHECK(here->path() != there->path());
  }
  const Result<Nvrtc> unnamed = Nvrtc::open(with_library(FAKE_NVRTC_12_4));
  CHECK(unnamed->identity().size() == std::string("nvrtc 12.4 ").size() + 64);  // told by its contents
}
