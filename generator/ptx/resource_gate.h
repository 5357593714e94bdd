// Refuses a kernel whose cubin does not keep to its plan. Runs after the facts pass.
#pragma once

#include "generator/ptx/pass.h"

namespace mlaindex::ptx {

// A kernel passes when it is the only entry point, has the expected name and SM, keeps inside its
// register and shared memory budgets, and has no local frame (unless spills are allowed). ptxas
// gives a kernel without local arrays a frame only when it spills. Errors: rejected_by_pass.
class ResourceGate final : public Pass {
 public:
  std::string_view name() const noexcept override { return "resource_gate"; }
  int version() const noexcept override { return 1; }
  Status run(Artifact& artifact, const PassContext& context) const override;
};

}  // namespace mlaindex::ptx
