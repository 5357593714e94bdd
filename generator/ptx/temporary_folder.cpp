#include "generator/ptx/temporary_folder.h"

#include <stdlib.h>

#include <fstream>
#include <iterator>
#include <utility>

namespace mlaindex::ptx {
namespace {

namespace fs = std::filesystem;

Error temporary_trouble(const std::string& what) {
  return Error{ErrorCode::internal, "cannot use a temporary folder: " + what, "set TMPDIR to a folder with free space"};
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code error;
  const fs::path base = fs::temp_directory_path(error);
  if (error) return temporary_trouble("there is none");
  std::string pattern = (base / "mlaindex-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return temporary_trouble("none can be made in " + base.string());
  return TemporaryFolder(pattern);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Status TemporaryFolder::write(const char* name, std::string_view bytes) const {
  std::ofstream stream(file(name), std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream.good()) return temporary_trouble(file(name) + " cannot be written");
  return {};
}

std::string TemporaryFolder::read(const char* name) const {
  std::ifstream stream(file(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace mlaindex::ptx
