#include "tests/hardware/facts/fact_kernel.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "generator/base/format.h"
#include "generator/templates.h"

namespace mlaindex {

// Generated from kernels/ by cmake/EmbedTemplates.cmake.
std::span<const Template> all_fact_kernels() noexcept;

namespace hardware {
namespace {

constexpr std::string_view prelude_include = "#include \"prelude.cuh\"\n";

std::string_view text_of(std::string_view path) {
  for (const Template& file : all_fact_kernels())
    if (file.path == path) return file.text;
  return {};
}

Result<std::string> source_of(const Experiment& experiment) {
  std::string text(text_of(experiment.kernel + ".cu"));
  const std::size_t at = text.find(prelude_include);
  if (at == std::string::npos)
    return Error{ErrorCode::invalid_argument, "no kernel '" + experiment.kernel + "' that includes the prelude",
                 "kernels/ holds them"};
  std::string prelude(text_of("prelude.cuh"));
  if (const std::size_t pragma = prelude.find("#pragma once\n"); pragma != std::string::npos)
    prelude.erase(pragma, std::string_view("#pragma once\n").size());
  text.replace(at, prelude_include.size(), prelude);
  std::string constants;
  for (const auto& [name, value] : experiment.constants) constants += fmt::format("#define {} {}\n", name, value);
  return constants + text;
}

}  // namespace

KernelSettings kernel_settings(const Experiment& experiment) noexcept {
  KernelSettings settings;
  std::copy_n(experiment.settings.begin(), std::min<std::size_t>(experiment.settings.size(), 12), settings.v);
  return settings;
}

Result<const CompiledKernel*> FactKernels::get(const Experiment& experiment) {
  Result<std::string> source = source_of(experiment);
  if (!source) return source.error();
  if (const auto found = kernels_.find(*source); found != kernels_.end()) return &found->second;
  Result<CompileOutput> output = compiler_->compile(Arch::sm_90a, experiment.kernel + ".cu", *source);
  if (!output) return output.error();
  CompiledKernel kernel;
  kernel.spec.arch = Arch::sm_90a;
  kernel.kernel_name = "fact";
  kernel.ptx = std::move(output->ptx);
  kernel.cubin = std::move(output->cubin);
  return &kernels_.emplace(std::move(*source), std::move(kernel)).first->second;
}

}  // namespace hardware
}  // namespace mlaindex
