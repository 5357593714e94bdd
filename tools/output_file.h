// A file being written: it appears under its name when complete, or not at all.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "generator/base/result.h"

namespace mlaindex::tools {

// Writes beside the target and renames, so that a reader sees the old file or the new one. A target
// that is no regular file (/dev/null, a pipe) is written to directly. Without commit() the target
// stays as it was. Errors are invalid_file with the system's reason.
class OutputFile {
 public:
  static Result<OutputFile> create(std::filesystem::path path);
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;

  Status write(const void* data, std::size_t bytes);
  Status commit();

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  OutputFile(std::filesystem::path path, std::string temporary, std::FILE* file)
      : path_(std::move(path)), temporary_(std::move(temporary)), file_(file) {}

  std::filesystem::path path_;
  std::string temporary_;  // empty: written to directly
  std::unique_ptr<std::FILE, Close> file_;
};

Status write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace mlaindex::tools
