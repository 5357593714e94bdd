// Reads the facts of the cubin into the artifact.
#pragma once

#include "generator/ptx/pass.h"

namespace mlaindex::ptx {

class FactsPass final : public Pass {
 public:
  std::string_view name() const noexcept override { return "facts"; }
  int version() const noexcept override { return 1; }
  Status run(Artifact& artifact, const PassContext& context) const override;
};

}  // namespace mlaindex::ptx
