#include "runtime/find_assembler.h"

#include "runtime/toolkit_path.h"

namespace mlaindex {

Result<ptx::Assembler> find_assembler(const Config& config) {
  Result<ptx::Assembler> assembler = ptx::Assembler::find(toolkit_path(config, config.ptxas_path, "ptxas"));
  if (assembler) return assembler;
  return Error{assembler.error().code, assembler.error().message,
               "changed PTX needs the ptxas program of the CUDA toolkit: install it, or set MLAINDEX_JIT_PTXAS to "
               "its path"};
}

}  // namespace mlaindex
