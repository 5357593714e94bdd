#include "runtime/find_disassembler.h"

#include "runtime/toolkit_path.h"

namespace mlaindex {

Result<model::Disassembler> find_disassembler(const Config& config) {
  Result<model::Disassembler> found = model::Disassembler::find(toolkit_path(config, config.nvdisasm_path, "nvdisasm"));
  if (found) return found;
  return Error{found.error().code, found.error().message,
               "the cycle model reads machine code through the nvdisasm program: install the CUDA toolkit or the PyPI "
               "package nvidia-cuda-nvdisasm, and set MLAINDEX_JIT_NVDISASM to its path if it is not in PATH"};
}

}  // namespace mlaindex
