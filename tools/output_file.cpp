#include "tools/output_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <unistd.h>

#include "generator/base/format.h"

namespace mlaindex::tools {
namespace {

Error failed(const std::filesystem::path& path, int error) {
  return Error{ErrorCode::invalid_file,
               fmt::format("{}: could not be written: {}", path.string(), std::strerror(error)),
               "the folder must exist and be writable, with room for the file"};
}

}  // namespace

Result<OutputFile> OutputFile::create(std::filesystem::path path) {
  std::error_code no_status;
  const std::filesystem::file_status target = std::filesystem::status(path, no_status);
  const bool directly = std::filesystem::exists(target) && !std::filesystem::is_regular_file(target);
  std::string temporary = directly ? "" : fmt::format("{}.{}.tmp", path.string(), ::getpid());
  std::FILE* file = std::fopen(directly ? path.c_str() : temporary.c_str(), "wb");
  if (file == nullptr) return failed(path, errno);
  return OutputFile(std::move(path), std::move(temporary), file);
}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;  // committed, or moved from
  file_.reset();
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

Status OutputFile::write(const void* data, std::size_t bytes) {
  if (bytes != 0 && std::fwrite(data, 1, bytes, file_.get()) != bytes) return failed(path_, errno);
  return {};
}

Status OutputFile::commit() {
  if (std::fclose(file_.release()) == 0 &&
      (temporary_.empty() || std::rename(temporary_.c_str(), path_.c_str()) == 0)) {
    return {};
  }
  const int error = errno;
  if (!temporary_.empty()) std::remove(temporary_.c_str());
  return failed(path_, error);
}

Status write_file(const std::filesystem::path& path, std::string_view bytes) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return file.error();
  if (Status written = file->write(bytes.data(), bytes.size()); !written) return written;
  return file->commit();
}

}  // namespace mlaindex::tools
