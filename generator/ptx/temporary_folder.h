// A private folder that goes away with its contents, and whole files in it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "generator/base/result.h"

namespace mlaindex::ptx {

class TemporaryFolder {
 public:
  // Below TMPDIR. Error: internal when it cannot be made.
  static Result<TemporaryFolder> make();
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;

  std::string file(const char* name) const { return (path_ / name).string(); }

  // Error: internal when the file cannot be written.
  Status write(const char* name, std::string_view bytes) const;
  // Empty for a file that is not there.
  std::string read(const char* name) const;

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace mlaindex::ptx
