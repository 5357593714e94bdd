// PTX to cubin by the ptxas program.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/result.h"

namespace mlaindex::ptx {

class Assembler {
 public:
  // Looks for ptxas: `configured` if not empty, else the folders of PATH, else the usual place of
  // the CUDA toolkit. Errors: no_nvrtc when there is none, with what was looked for.
  static Result<Assembler> find(const std::string& configured = {});

  const std::string& program() const noexcept { return program_; }

  // Whole-program assembly for `arch` ("sm_100a"). `options` go to ptxas as they are.
  // Errors: compile_failed with the assembler's log; internal when it cannot be run or is killed.
  Result<std::string> assemble(std::string_view ptx, const std::string& arch,
                               const std::vector<std::string>& options = {},
                               std::chrono::milliseconds timeout = std::chrono::seconds(120)) const;

 private:
  explicit Assembler(std::string program) : program_(std::move(program)) {}
  std::string program_;
};

}  // namespace mlaindex::ptx
