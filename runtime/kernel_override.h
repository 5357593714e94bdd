// PTX or cubin that an expert puts in the place of what was made of one kernel.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "generator/base/result.h"
#include "generator/ptx/assembler.h"
#include "generator/ptx/pipeline.h"
#include "runtime/file.h"
#include "runtime/kernel_store.h"

namespace mlaindex {

// What the override folder has for one kernel, in files named as the dump names them.
struct KernelOverride {
  struct File {
    std::filesystem::path path;
    std::string bytes;
  };
  std::optional<File> ptx, cubin;
  // Files of the same kernel with another key: left over from other versions or tools, not used.
  std::vector<std::filesystem::path> outdated;

  bool any() const noexcept { return ptx || cubin; }
  std::string text() const;  // "PTX overridden by FILE", "cubin overridden by FILE", or both
};

// Errors: invalid_file for a file or a folder that cannot be read, or that others may write.
Result<KernelOverride> find_override(const CompiledKernel& kernel, const std::filesystem::path& folder,
                                     const FileSystem& files);

// Puts the override into the kernel: its PTX, assembled when there is no cubin as well, and its cubin,
// both judged by the passes. The kernel's own PTX must be there unless the override has one. On an
// error, which names the file, the kernel is as it was. Errors: invalid_file (PTX that does not parse
// or is of another arch, a damaged cubin), no_nvrtc (no assembler), compile_failed (with its log),
// rejected_by_pass.
Status apply_override(const KernelOverride& change, const Result<ptx::Assembler>& assembler,
                      const ptx::Pipeline& pipeline, CompiledKernel& kernel);

}  // namespace mlaindex
