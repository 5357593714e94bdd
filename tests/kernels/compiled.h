// Compiles one kernel the way the kernel store does, without a cache.
#pragma once

#include <catch2/catch.hpp>

#include "generator/ptx/pipeline.h"
#include "generator/source.h"
#include "runtime/compile.h"
#include "runtime/config.h"

namespace mlaindex {

inline ptx::PassContext pass_context(const Spec& spec, const Plan& plan) {
  ptx::PassContext context;
  context.entry = kernel_name(spec, plan);
  context.sm_number = arch_limits(spec.arch).sm_number;
  context.max_registers_per_thread = plan.entry_registers;
  context.dynamic_shared_bytes = plan.shared_bytes();
  context.max_shared_bytes = arch_limits(spec.arch).shared_bytes_per_cta;
  return context;
}

inline Result<ptx::Artifact> compiled(Compiler& compiler, const Spec& spec, const Plan& plan) {
  Result<std::string> source = emit_source(spec, plan);
  if (!source) return source.error();
  Result<CompileOutput> output = compiler.compile(spec.arch, "kernel.cu", *source);
  if (!output) return output.error();
  if (!output->log.empty()) return Error{ErrorCode::compile_failed, "the compiler warned: " + output->log, ""};
  ptx::Artifact artifact;
  artifact.ptx = output->ptx;
  artifact.cubin = output->cubin;
  if (Status status = ptx::default_pipeline().run(artifact, pass_context(spec, plan)); !status) return status.error();
  return artifact;
}

}  // namespace mlaindex
