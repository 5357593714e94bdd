#include "generator/ptx/assembler.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "generator/ptx/process.h"

namespace mlaindex::ptx {
namespace {

namespace fs = std::filesystem;

constexpr const char* kToolkitProgram = "/usr/local/cuda/bin/ptxas";

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

Error temporary_trouble(const std::string& what) {
  return Error{ErrorCode::internal, "cannot use a temporary folder: " + what,
               "set TMPDIR to a folder with free space"};
}

// A private folder that goes away with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    const fs::path base = fs::temp_directory_path(error);
    if (error) return;
    std::string pattern = (base / "mlaindex-XXXXXX").string();
    if (mkdtemp(pattern.data())) path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  bool ok() const noexcept { return !path_.empty(); }
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool write(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  return file.good();
}

}  // namespace

Result<Assembler> Assembler::find(const std::string& configured) {
  if (!configured.empty()) {
    if (is_program(configured)) return Assembler(configured);
    return Error{ErrorCode::no_nvrtc, "no assembler at " + configured, "give the path of ptxas"};
  }
  if (const char* path = getenv("PATH")) {
    std::istringstream folders{std::string(path)};
    for (std::string folder; std::getline(folders, folder, ':');) {
      const fs::path candidate = fs::path(folder) / "ptxas";
      if (candidate.is_absolute() && is_program(candidate)) return Assembler(candidate.string());
    }
  }
  if (is_program(kToolkitProgram)) return Assembler(kToolkitProgram);
  return Error{ErrorCode::no_nvrtc, "no ptxas in PATH or the CUDA toolkit",
               "install the CUDA toolkit, or give the path of ptxas"};
}

Result<std::string> Assembler::assemble(std::string_view ptx, const std::string& arch,
                                        const std::vector<std::string>& options,
                                        std::chrono::milliseconds timeout) const {
  const TemporaryFolder folder;
  if (!folder.ok()) return temporary_trouble("it cannot be made");
  const std::string input = folder.file("kernel.ptx");
  const std::string output = folder.file("kernel.cubin");
  const std::string log = folder.file("log");
  if (!write(input, ptx)) return temporary_trouble("the PTX cannot be written");

  std::vector<std::string> argv{program_, "-arch=" + arch, input, "-o", output};
  argv.insert(argv.end(), options.begin(), options.end());
  Result<int> status = run_process(argv, log, timeout);
  if (!status) return std::move(status).error();
  if (*status != 0)
    return Error{ErrorCode::compile_failed,
                 "ptxas ended with status " + std::to_string(*status) + ":\n" + contents(log), ""};
  std::string cubin = contents(output);
  if (cubin.empty())
    return Error{ErrorCode::compile_failed, "ptxas ended well but wrote no cubin", ""};
  return cubin;
}

}  // namespace mlaindex::ptx
