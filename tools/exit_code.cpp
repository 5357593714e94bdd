#include "tools/exit_code.h"

namespace mlaindex::tools {

ExitCode exit_code_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::unsupported_shape:
    case ErrorCode::unsupported_arch:
    case ErrorCode::invalid_file:
    case ErrorCode::would_compile_in_capture:
    case ErrorCode::workspace_too_small: return ExitCode::wrong_usage;
    case ErrorCode::no_driver:
    case ErrorCode::no_device:
    case ErrorCode::no_nvrtc:
    case ErrorCode::compile_failed:
    case ErrorCode::cuda_error:
    case ErrorCode::cache_trouble:
    case ErrorCode::out_of_memory: return ExitCode::environment;
    case ErrorCode::rejected_by_pass:
    case ErrorCode::internal: return ExitCode::check_failed;
  }
  return ExitCode::check_failed;
}

}  // namespace mlaindex::tools
