// System calls that fail on demand.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "runtime/file.h"

namespace mlaindex {

// Counts the calls and fails the one numbered `fail_at`, or all from there on. A close that fails has
// closed, as on Linux. No two threads at once.
class FaultyCalls : public FileCalls {
 public:
  int fail_at = -1;       // from 0; -1: none
  bool persistent = false;
  int reason = EIO;       // errno
  int calls = 0;
  std::size_t piece = SIZE_MAX;  // the most bytes that one read or write moves

  int open(const char* path, int flags, mode_t mode) override {
    return fails() ? -1 : FileCalls::open(path, flags, mode);
  }
  ssize_t read(int fd, void* buffer, std::size_t bytes) override {
    return fails() ? -1 : FileCalls::read(fd, buffer, std::min(bytes, piece));
  }
  ssize_t write(int fd, const void* buffer, std::size_t bytes) override {
    return fails() ? -1 : FileCalls::write(fd, buffer, std::min(bytes, piece));
  }
  int fsync(int fd) override { return fails() ? -1 : FileCalls::fsync(fd); }
  int close(int fd) override {
    const int result = FileCalls::close(fd);
    return fails() ? -1 : result;
  }
  int fstat(int fd, struct stat* result) override { return fails() ? -1 : FileCalls::fstat(fd, result); }
  int lstat(const char* path, struct stat* result) override { return fails() ? -1 : FileCalls::lstat(path, result); }
  int mkdir(const char* path, mode_t mode) override { return fails() ? -1 : FileCalls::mkdir(path, mode); }
  int rename(const char* from, const char* to) override { return fails() ? -1 : FileCalls::rename(from, to); }
  int unlink(const char* path) override { return fails() ? -1 : FileCalls::unlink(path); }
  int list(const char* path, std::vector<std::string>& names) override {
    return fails() ? errno : FileCalls::list(path, names);
  }

 private:
  bool fails() {
    const int number = calls++;
    if (fail_at < 0 || number < fail_at || (number > fail_at && !persistent)) return false;
    errno = reason;
    return true;
  }
};

}  // namespace mlaindex
