// A compiler that makes empty kernels of the right name, and fails on demand.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "runtime/compile.h"

namespace mlaindex {

// What a test sets and looks at; outlives the compiler.
struct FakeCompilerState {
  std::atomic<int> compiles{0};
  std::string identity = "fake 1.0";
  std::optional<Error> identity_error;
  std::optional<Error> compile_error;
  bool throws = false;
  std::string log;
  std::chrono::milliseconds duration{0};
  bool truncate_cubin = false;
  std::string entry_suffix;  // makes the kernel's name differ from the expected one
};

std::unique_ptr<Compiler> make_fake_compiler(std::shared_ptr<FakeCompilerState> state);

// A real cubin and PTX of an empty kernel, by NVRTC; each made once in the process.
const CompileOutput& empty_kernel(Arch arch, const std::string& name);

}  // namespace mlaindex
