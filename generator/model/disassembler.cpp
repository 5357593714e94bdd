#include "generator/model/disassembler.h"

#include "generator/ptx/process.h"
#include "generator/ptx/temporary_folder.h"
#include "generator/ptx/toolkit_program.h"

namespace mlaindex::model {

Result<Disassembler> Disassembler::find(const std::string& configured) {
  Result<std::string> program = ptx::find_toolkit_program("nvdisasm", configured);
  if (!program) return std::move(program).error();
  return Disassembler(*std::move(program));
}

Result<std::string> Disassembler::disassemble(std::string_view cubin, std::chrono::milliseconds timeout) const {
  const Result<ptx::TemporaryFolder> folder = ptx::TemporaryFolder::make();
  if (!folder) return folder.error();
  if (Status written = folder->write("kernel.cubin", cubin); !written) return written.error();
  Result<int> status = ptx::run_process({program_, "-c", folder->file("kernel.cubin")}, folder->file("listing"), timeout);
  if (!status) return std::move(status).error();
  std::string text = folder->read("listing");
  if (*status != 0) {
    return Error{ErrorCode::compile_failed, "nvdisasm ended with status " + std::to_string(*status) + ":\n" + text,
                 "use the nvdisasm of a CUDA release as new as that of NVRTC"};
  }
  return text;
}

}  // namespace mlaindex::model
