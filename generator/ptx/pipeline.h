// The ordered list of passes that every compiled kernel goes through.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "generator/ptx/pass.h"
#include "generator/ptx/rewrite.h"

namespace mlaindex::ptx {

// What one pass had to say.
struct PassReport {
  std::string name;
  int version = 0;
  std::string settings;     // often empty
  std::vector<Note> notes;  // in the order they were made

  std::string text() const;  // several lines, for a person; a subject is named once
};

class Pipeline {
 public:
  Pipeline& add(std::unique_ptr<const Pass> pass);

  // Runs the passes in order and stops at the first refusal, whose message starts with the name of
  // the pass.
  Status run(Artifact& artifact, const PassContext& context) const;

  // The notes of an artifact that went through, by pass. Every pass has its place, with notes or without.
  std::vector<PassReport> reports(const Artifact& artifact) const;

  // Digest of the ordered (name, version, settings) list.
  Digest digest() const;

 private:
  std::vector<std::unique_ptr<const Pass>> passes_;
};

// The passes that are always on.
Pipeline default_pipeline();

// The same behind a rewrite, whose new cubin they then judge.
Pipeline rewriting_pipeline(RewriteOptions options, Result<Assembler> assembler);

// default_pipeline().digest(): belongs in the cache key.
Digest pipeline_digest();

}  // namespace mlaindex::ptx
