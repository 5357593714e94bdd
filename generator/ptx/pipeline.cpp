#include "generator/ptx/pipeline.h"

#include <algorithm>
#include <string>
#include <string_view>

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

std::string PassReport::text() const {
  constexpr std::size_t kSubjectWidth = 15;
  std::string text = name + ", version " + std::to_string(version);
  if (!settings.empty()) text.append(", ").append(settings);
  text += '\n';
  std::string_view last;
  for (const Note& note : notes) {
    std::string subject = note.subject == last ? "" : note.subject;
    subject.resize(std::max(subject.size() + 1, kSubjectWidth), ' ');
    text.append(subject).append(note.text).append("\n");
    last = note.subject;
  }
  return text;
}

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

std::vector<PassReport> Pipeline::reports(const Artifact& artifact) const {
  std::vector<PassReport> reports;
  for (const auto& pass : passes_) {
    PassReport report{std::string(pass->name()), pass->version(), pass->settings(), {}};
    for (const Note& note : artifact.notes)
      if (note.pass == report.name) report.notes.push_back(note);
    reports.push_back(std::move(report));
  }
  return reports;
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
