// Cubin to text by the nvdisasm program.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "generator/base/result.h"

namespace mlaindex::model {

class Disassembler {
 public:
  // Looks for nvdisasm: `configured` if not empty, else the folders of PATH, else the usual place of the CUDA
  // toolkit. Errors: no_nvrtc when there is none, with what was looked for.
  static Result<Disassembler> find(const std::string& configured = {});

  const std::string& program() const noexcept { return program_; }

  // What `nvdisasm -c` prints. Errors: compile_failed with its complaint (it is older than the cubin's arch, say);
  // internal when it cannot be run or is killed.
  Result<std::string> disassemble(std::string_view cubin,
                                  std::chrono::milliseconds timeout = std::chrono::seconds(60)) const;

 private:
  explicit Disassembler(std::string program) : program_(std::move(program)) {}
  std::string program_;
};

}  // namespace mlaindex::model
