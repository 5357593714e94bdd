#include "generator/ptx/pipeline.h"

#include <string>

#include "generator/ptx/facts_pass.h"
#include "generator/ptx/normalise.h"
#include "generator/ptx/resource_gate.h"
#include "generator/ptx/verify.h"

namespace mlaindex::ptx {

namespace {

void add_default_passes(Pipeline& pipeline) {
  pipeline.add(std::make_unique<FactsPass>())
      .add(std::make_unique<ResourceGate>())
      .add(std::make_unique<VerifyPass>())
      .add(std::make_unique<NormalisePass>());
}

}  // namespace

Pipeline& Pipeline::add(std::unique_ptr<const Pass> pass) {
  passes_.push_back(std::move(pass));
  return *this;
}

Status Pipeline::run(Artifact& artifact, const PassContext& context) const {
  for (const auto& pass : passes_) {
    Status status = pass->run(artifact, context);
    if (status) continue;
    Error error = status.error();
    error.message = std::string(pass->name()) + ": " + error.message;
    return error;
  }
  return {};
}

Digest Pipeline::digest() const {
  DigestBuilder builder;
  for (const auto& pass : passes_) {
    builder.add(pass->name(), std::to_string(pass->version()));
    builder.add("settings", pass->settings());
  }
  return builder.finish();
}

Pipeline default_pipeline() {
  Pipeline pipeline;
  add_default_passes(pipeline);
  return pipeline;
}

Pipeline rewriting_pipeline(RewriteOptions options, Result<Assembler> assembler) {
  Pipeline pipeline;
  pipeline.add(std::make_unique<RewritePass>(std::move(options), std::move(assembler)));
  add_default_passes(pipeline);
  return pipeline;
}

Digest pipeline_digest() { return default_pipeline().digest(); }

}  // namespace mlaindex::ptx
