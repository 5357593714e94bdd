// The shared library opens on this machine, with or without GPU, driver and CUDA toolkit, and what
// it holds stays inside it.
#include <catch2/catch.hpp>

#include <dlfcn.h>

#include <memory>

TEST_CASE("the shared library loads with every symbol resolved") {
  const auto close = [](void* handle) { dlclose(handle); };
  const std::unique_ptr<void, decltype(close)> library(
      dlopen(MLAINDEX_SHARED_LIBRARY, RTLD_NOW | RTLD_LOCAL), close);
  const char* problem = library ? "" : dlerror();
  INFO(problem);
  REQUIRE(library);
  // A function of LLVM that the library holds.
  CHECK(dlsym(library.get(), "llvm_blake3_hasher_init") == nullptr);
}
