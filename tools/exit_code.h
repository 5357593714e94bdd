// What a process tells its caller, and the one place where an error becomes an exit code.
#pragma once

#include "generator/base/result.h"

namespace mlaindex::tools {

enum class ExitCode {
  done = 0,
  check_failed = 1,  // a comparison, a verification or a gate said no
  wrong_usage = 2,   // wrong options, or an input file that is not what it must be
  environment = 3,   // the machine lacks something: NVRTC, a driver, a GPU, memory, a writable place
};

ExitCode exit_code_of(ErrorCode code) noexcept;

}  // namespace mlaindex::tools
