// One form for all texts that say the same, and its digest.
#pragma once

#include "generator/ptx/module.h"
#include "generator/ptx/pass.h"

namespace mlaindex::ptx {

// Debug directives, labels that nothing names, unused private variables and scopes are gone;
// registers and labels are numbered in order of use; numbers are written one way. For digests and
// for reading: variables of the same name in different scopes are no longer told apart.
Module normalised(const Module& module);

// Equal for modules that differ only in comments, layout, debug directives, or the names of
// registers, labels and call parameters.
Digest code_digest(const Module& module);

// Puts code_digest of the artifact's PTX into the artifact.
class NormalisePass final : public Pass {
 public:
  std::string_view name() const noexcept override { return "normalise"; }
  int version() const noexcept override { return 1; }
  Status run(Artifact& artifact, const PassContext& context) const override;
};

}  // namespace mlaindex::ptx
