#include "generator/ptx/assembler.h"

#include "generator/ptx/process.h"
#include "generator/ptx/temporary_folder.h"
#include "generator/ptx/toolkit_program.h"

namespace mlaindex::ptx {

Result<Assembler> Assembler::find(const std::string& configured) {
  Result<std::string> program = find_toolkit_program("ptxas", configured);
  if (!program) return std::move(program).error();
  return Assembler(*std::move(program));
}

Result<std::string> Assembler::assemble(std::string_view ptx, const std::string& arch,
                                        const std::vector<std::string>& options,
                                        std::chrono::milliseconds timeout) const {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  if (Status written = folder->write("kernel.ptx", ptx); !written) return written.error();

  std::vector<std::string> argv{program_, "-arch=" + arch, folder->file("kernel.ptx"), "-o", folder->file("kernel.cubin")};
  argv.insert(argv.end(), options.begin(), options.end());
  Result<int> status = run_process(argv, folder->file("log"), timeout);
  if (!status) return std::move(status).error();
  if (*status != 0)
    return Error{ErrorCode::compile_failed,
                 "ptxas ended with status " + std::to_string(*status) + ":\n" + folder->read("log"), ""};
  std::string cubin = folder->read("kernel.cubin");
  if (cubin.empty())
    return Error{ErrorCode::compile_failed, "ptxas ended well but wrote no cubin", ""};
  return cubin;
}

}  // namespace mlaindex::ptx
