// What one run of a command works with.
#pragma once

#include <memory>
#include <optional>

#include "runtime/config.h"
#include "runtime/kernel_store.h"
#include "runtime/log.h"
#include "runtime/routes.h"
#include "tools/output.h"

namespace mlaindex::tools {

// The log writes through the output, so that warnings reach stderr and the JSON object alike.
class Session {
 public:
  Session(Config config, Output& output);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Config& config() const noexcept { return config_; }
  const Log& log() const noexcept { return log_; }
  Output& output() noexcept { return output_; }

  // Opened at the first call: commands that compile nothing touch no cache.
  KernelStore& kernels();
  // Read at the first call.
  const Routes& routes();

 private:
  Config config_;
  Output& output_;
  Log log_;
  std::unique_ptr<KernelStore> kernels_;
  std::optional<Routes> routes_;
};

}  // namespace mlaindex::tools
