#include "generator/base/result.h"

namespace mlaindex {

const char* error_code_name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::unsupported_shape: return "unsupported_shape";
    case ErrorCode::unsupported_arch: return "unsupported_arch";
    case ErrorCode::invalid_file: return "invalid_file";
    case ErrorCode::no_driver: return "no_driver";
    case ErrorCode::no_device: return "no_device";
    case ErrorCode::no_nvrtc: return "no_nvrtc";
    case ErrorCode::compile_failed: return "compile_failed";
    case ErrorCode::rejected_by_pass: return "rejected_by_pass";
    case ErrorCode::would_compile_in_capture: return "would_compile_in_capture";
    case ErrorCode::workspace_too_small: return "workspace_too_small";
    case ErrorCode::cuda_error: return "cuda_error";
    case ErrorCode::cache_trouble: return "cache_trouble";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::internal: return "internal";
  }
  return "internal";
}

}  // namespace mlaindex
