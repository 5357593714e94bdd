// Files of the cache: plain POSIX, whole files only, every failure a value.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/result.h"

namespace mlaindex {

// The system calls underneath, with their POSIX results and errno. Tests override them to inject
// faults. One object serves many threads.
class FileCalls {
 public:
  virtual ~FileCalls() = default;
  virtual int open(const char* path, int flags, mode_t mode);
  virtual ssize_t read(int fd, void* buffer, std::size_t bytes);
  virtual ssize_t write(int fd, const void* buffer, std::size_t bytes);
  virtual int fsync(int fd);
  virtual int close(int fd);
  virtual int fstat(int fd, struct stat* result);
  virtual int lstat(const char* path, struct stat* result);
  virtual int mkdir(const char* path, mode_t mode);
  virtual int rename(const char* from, const char* to);
  virtual int unlink(const char* path);
  // Names in a directory without "." and "..", in any order; an errno value on failure, else 0.
  virtual int list(const char* path, std::vector<std::string>& names);
};

// What lstat says about a path.
struct FileInfo {
  bool is_file = false;
  bool is_directory = false;
  bool is_symlink = false;
  uid_t owner = 0;
  mode_t mode = 0;  // permission bits
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;  // seconds since 1970
};

// 32 hex digits that nobody else comes up with, for temporary files.
std::string random_file_name();

// Errors are cache_trouble with the path, what was tried and the system's reason, or invalid_file for
// a file that is not what it must be.
class FileSystem {
 public:
  FileSystem();
  explicit FileSystem(std::shared_ptr<FileCalls> calls);

  // A regular file of at most `max_bytes` that belongs to this user or root and that nobody else may
  // write; symbolic links are not followed. Nothing when there is no such path.
  Result<std::optional<std::string>> read(const std::filesystem::path& path, std::size_t max_bytes) const;

  // Makes `path` hold `bytes`, entirely or not at all: written to `temporary` (on the same file
  // system; must not exist; mode 0600), synced, renamed. On failure the temporary is removed.
  Status publish(const std::filesystem::path& path, const std::filesystem::path& temporary,
                 std::string_view bytes) const;

  // Missing parents too, each with mode 0700. Success when it exists already.
  Status make_directories(const std::filesystem::path& path) const;

  // Sorted. Nothing in a directory that does not exist.
  Result<std::vector<std::string>> list(const std::filesystem::path& directory) const;

  // Nothing when there is no such path.
  Result<std::optional<FileInfo>> info(const std::filesystem::path& path) const;

  Status move(const std::filesystem::path& from, const std::filesystem::path& to) const;
  Status remove(const std::filesystem::path& path) const;  // of a file; success when it is gone already

 private:
  std::shared_ptr<FileCalls> calls_;
};

}  // namespace mlaindex
