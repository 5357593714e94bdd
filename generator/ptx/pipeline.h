// The ordered list of passes that every compiled kernel goes through.
#pragma once

#include <memory>
#include <vector>

#include "generator/ptx/pass.h"

namespace mlaindex::ptx {

class Pipeline {
 public:
  Pipeline& add(std::unique_ptr<const Pass> pass);

  // Runs the passes in order and stops at the first refusal, whose message starts with the name of
  // the pass.
  Status run(Artifact& artifact, const PassContext& context) const;

  // Digest of the ordered (name, version) list.
  Digest digest() const;

 private:
  std::vector<std::unique_ptr<const Pass>> passes_;
};

// The passes that are always on.
Pipeline default_pipeline();

// default_pipeline().digest(): belongs in the cache key.
Digest pipeline_digest();

}  // namespace mlaindex::ptx
