// From CUDA source to PTX and cubin.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "generator/arch.h"
#include "generator/base/result.h"
#include "runtime/config.h"

namespace mlaindex {

struct CompileOutput {
  std::string ptx;    // text, without the NUL that NVRTC ends it with
  std::string cubin;
  std::string log;    // warnings; empty when there is nothing to say
};

// A compiler of CUDA C++. Thread-safe.
class Compiler {
 public:
  virtual ~Compiler() = default;

  // Everything besides source and options that the output depends on: name, version and build. Part
  // of cache keys. Errors: no_nvrtc when there is no compiler, or none that knows the arch.
  virtual Result<std::string> identity(Arch arch) = 0;

  // `source` includes nothing; `name` is what diagnostics call it ("kernel.cu").
  // Errors: no_nvrtc; compile_failed with the compiler's log.
  virtual Result<CompileOutput> compile(Arch arch, const std::string& name, const std::string& source) = 0;
};

// NVRTC as `config` says, opened at the first use: loading it takes 10 to 200 ms, and kernels in
// memory need none of it.
std::unique_ptr<Compiler> make_nvrtc_compiler(const Config& config);

// The options that decide what the output is: part of cache keys.
std::vector<std::string> compile_options(Arch arch);

}  // namespace mlaindex
