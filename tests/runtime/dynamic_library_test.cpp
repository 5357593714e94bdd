#include "runtime/dynamic_library.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <algorithm>

#include "tests/runtime/temporary_directory.h"

using namespace mlaindex;

TEST_CASE("dynamic library: a function of the C library's maths is called") {
  const Result<DynamicLibrary> library = DynamicLibrary::open("libm.so.6");
  REQUIRE(library.ok());
  auto* cosine = library->function<double(double)>("cos");
  REQUIRE(cosine != nullptr);
  CHECK(cosine(0.0) == 1.0);
  CHECK(library->symbol("no_such_function") == nullptr);
  CHECK(library->path().find("libm.so.6") != std::string::npos);
}

TEST_CASE("dynamic library: the build id is the one that the file carries") {
  const Result<DynamicLibrary> with = DynamicLibrary::open(FIXTURE_WITH_BUILD_ID);
  REQUIRE(with.ok());
  CHECK(with->build_id() == "0123456789abcdef0123456789abcdef01234567");
  const Result<DynamicLibrary> without = DynamicLibrary::open(FIXTURE_WITHOUT_BUILD_ID);
  REQUIRE(without.ok());
  CHECK(without->build_id().empty());
}

TEST_CASE("dynamic library: what cannot be opened is an error in the loader's words") {
  const TemporaryDirectory directory;
  write_bytes(directory / "text.so", "not an ELF file");
  for (const std::string& name : {std::string("libno_such_library.so.7"), (directory / "text.so").string()}) {
    const Result<DynamicLibrary> library = DynamicLibrary::open(name);
    REQUIRE_FALSE(library.ok());
    CHECK(library.error().code == ErrorCode::invalid_file);
    CHECK(library.error().message.find(name) != std::string::npos);
  }
}
