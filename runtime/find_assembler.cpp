#include "runtime/find_assembler.h"

#include <filesystem>

namespace mlaindex {

Result<ptx::Assembler> find_assembler(const Config& config) {
  Result<ptx::Assembler> assembler = ptx::Assembler::find(config.ptxas_path);
  if (config.ptxas_path.empty()) {
    for (const std::filesystem::path& toolkit : config.toolkit_dirs) {
      Result<ptx::Assembler> found = ptx::Assembler::find((toolkit / "bin" / "ptxas").string());
      if (found) return found;
    }
  }
  if (assembler) return assembler;
  return Error{assembler.error().code, assembler.error().message,
               "changed PTX needs the ptxas program of the CUDA toolkit: install it, or set MLAINDEX_JIT_PTXAS to "
               "its path"};
}

}  // namespace mlaindex
