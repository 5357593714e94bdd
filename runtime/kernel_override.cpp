#include "runtime/kernel_override.h"

#include <utility>

#include "generator/base/format.h"
#include "generator/ptx/parser.h"
#include "runtime/kernel_dump.h"
#include "runtime/kernel_passes.h"

namespace mlaindex {
namespace {

constexpr std::size_t max_override_bytes = std::size_t{64} << 20;
constexpr std::string_view what_to_do = "correct the file, or remove it from the override folder";

Error refused(const std::string& files, const Error& why) {
  return {why.code, fmt::format("override {}: {}", files, why.message),
          why.hint.empty() ? std::string(what_to_do) : fmt::format("{}; {}", why.hint, what_to_do)};
}

Result<std::optional<KernelOverride::File>> read(const std::filesystem::path& path, const FileSystem& files) {
  Result<std::optional<std::string>> bytes = files.read(path, max_override_bytes);
  if (!bytes) {
    const Error why{ErrorCode::invalid_file, bytes.error().message, "it must be readable, and not for others to write"};
    return refused(path.string(), why);
  }
  if (!*bytes) return std::optional<KernelOverride::File>{};
  return std::optional(KernelOverride::File{path, std::move(**bytes)});
}

Status check_target(const CompiledKernel& kernel, const KernelOverride::File& file) {
  const Result<ptx::Module> module = ptx::parse(file.bytes, file.path.string());
  if (!module) return module.error();
  const std::string_view arch = arch_name(kernel.spec.arch);
  if (!module->targets.empty() && module->targets.front() == arch) return {};
  return Error{ErrorCode::invalid_file,
               fmt::format("it is for {}", module->targets.empty() ? "no target" : module->targets.front()),
               fmt::format("the kernel is for {}", arch)};
}

std::string file_list(const KernelOverride& change) {
  std::string text;
  for (const auto& file : {change.ptx, change.cubin})
    if (file) text += (text.empty() ? "" : ", ") + file->path.string();
  return text;
}

}  // namespace

std::string KernelOverride::text() const {
  std::string text;
  if (ptx) text = fmt::format("PTX overridden by {}", ptx->path.string());
  if (cubin) text += fmt::format("{}cubin overridden by {}", text.empty() ? "" : ", ", cubin->path.string());
  return text;
}

Result<KernelOverride> find_override(const CompiledKernel& kernel, const std::filesystem::path& folder,
                                     const FileSystem& files) {
  const std::string stem = kernel_file_stem(kernel);
  KernelOverride change;
  Result<std::optional<KernelOverride::File>> ptx = read(folder / (stem + ".ptx"), files);
  if (!ptx) return ptx.error();
  Result<std::optional<KernelOverride::File>> cubin = read(folder / (stem + ".cubin"), files);
  if (!cubin) return cubin.error();
  change.ptx = *std::move(ptx);
  change.cubin = *std::move(cubin);
  const Result<std::vector<std::string>> names = files.list(folder);
  if (!names)
    return Error{ErrorCode::invalid_file, names.error().message, "the override folder must be readable, or not set"};
  for (const std::string& name : *names) {
    const bool of_kernel = name.starts_with(kernel.kernel_name + '-') && !name.starts_with(stem);
    if (of_kernel && (name.ends_with(".ptx") || name.ends_with(".cubin"))) change.outdated.push_back(folder / name);
  }
  return change;
}

Status apply_override(const KernelOverride& change, const Result<ptx::Assembler>& assembler,
                      const ptx::Pipeline& pipeline, CompiledKernel& kernel) {
  CompiledKernel changed = kernel;
  changed.source.clear();
  changed.override_text = change.text();
  if (change.ptx) {
    const std::string name = change.ptx->path.string();
    if (Status fits = check_target(kernel, *change.ptx); !fits) return refused(name, fits.error());
    changed.ptx = change.ptx->bytes;
    if (!change.cubin) {
      if (!assembler) return refused(name, assembler.error());
      Result<std::string> cubin = assembler->assemble(changed.ptx, std::string(arch_name(kernel.spec.arch)));
      if (!cubin) return refused(name, cubin.error());
      changed.cubin = *std::move(cubin);
    }
  }
  if (change.cubin) changed.cubin = change.cubin->bytes;
  if (const auto passed = run_passes(pipeline, changed); !passed) return refused(file_list(change), passed.error());
  kernel = std::move(changed);
  return {};
}

}  // namespace mlaindex
