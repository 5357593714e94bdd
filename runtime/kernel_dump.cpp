#include "runtime/kernel_dump.h"

#include <array>
#include <utility>

#include "generator/base/format.h"
#include "generator/explain.h"
#include "generator/ptx/pipeline.h"
#include "generator/source.h"
#include "runtime/kernel_passes.h"

namespace mlaindex {
namespace {

Result<std::string> report_of(const CompiledKernel& kernel) {
  CompiledKernel examined = kernel;
  const auto reports = run_passes(ptx::default_pipeline(), examined, /*describe=*/true);
  if (!reports) return reports.error();
  std::string text = explain(kernel.spec, kernel.plan) + "\nkey        " + kernel.key + '\n';
  for (const ptx::PassReport& report : *reports) text += "\npass " + report.text();
  return text;
}

}  // namespace

std::string kernel_file_stem(const CompiledKernel& kernel) { return kernel.kernel_name + '-' + kernel.key; }

Status dump_kernel(const CompiledKernel& kernel, const std::filesystem::path& folder, const FileSystem& files) {
  // A kernel from the disk cache comes without its source, which the generator gives again.
  Result<std::string> source =
      kernel.source.empty() ? emit_source(kernel.spec, kernel.plan) : Result<std::string>(kernel.source);
  if (!source) return source.error();
  const Result<std::string> report = report_of(kernel);
  if (!report) return report.error();
  if (Status made = files.make_directories(folder); !made) return made;
  const std::array<std::pair<const char*, const std::string*>, 4> contents{
      {{".cu", &*source}, {".ptx", &kernel.ptx}, {".cubin", &kernel.cubin}, {".report.txt", &*report}}};
  for (const auto& [suffix, bytes] : contents) {
    const std::filesystem::path temporary = folder / fmt::format(".{}.tmp", random_file_name());
    if (Status written = files.publish(folder / (kernel_file_stem(kernel) + suffix), temporary, *bytes); !written)
      return written;
  }
  return {};
}

}  // namespace mlaindex
