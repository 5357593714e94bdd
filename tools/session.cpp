#include "tools/session.h"

#include <cstdio>

namespace mlaindex::tools {
namespace {

void deliver(LogLevel level, const char* message, void* output) {
  if (level >= LogLevel::warn) return static_cast<Output*>(output)->warn(message);
  std::fprintf(stderr, "mlaindex: %s: %s\n", std::string(log_level_name(level)).c_str(), message);
}

}  // namespace

Session::Session(Config config, Output& output)
    : config_(std::move(config)), output_(output), log_(config_.log_level, &deliver, &output_) {
  for (const std::string& warning : config_.warnings) log_.warn(warning);
}

KernelStore& Session::kernels() {
  if (!kernels_) kernels_ = std::make_unique<KernelStore>(config_, log_);
  return *kernels_;
}

const Routes& Session::routes() {
  if (!routes_) routes_.emplace(config_, log_);
  return *routes_;
}

}  // namespace mlaindex::tools
