#include "runtime/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "generator/base/digest.h"
#include "generator/base/format.h"

namespace mlaindex {
namespace {

namespace fs = std::filesystem;

constexpr mode_t private_directory = 0700;
constexpr mode_t private_file = 0600;
constexpr mode_t writable_by_others = S_IWGRP | S_IWOTH;

Error failed(const char* what, const fs::path& path, int reason) {
  const bool is_full = reason == ENOSPC || reason == EDQUOT;
  return {ErrorCode::cache_trouble,
          fmt::format("cannot {} '{}': {}", what, path.string(), std::generic_category().message(reason)),
          is_full ? "free some space, or choose another cache directory"
                  : "choose a cache directory that can be written: --cache-dir or MLAINDEX_JIT_CACHE_DIR"};
}

Error unfit(const fs::path& path, const std::string& why, std::string hint = {}) {
  return {ErrorCode::invalid_file, fmt::format("'{}' {}", path.string(), why), std::move(hint)};
}

// The call's result once it is not interrupted by a signal.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// Closes on the way out unless closed before.
class Descriptor {
 public:
  Descriptor(FileCalls& calls, const fs::path& path, int flags, mode_t mode = 0)
      : calls_(calls), fd_(uninterrupted([&] { return calls.open(path.c_str(), flags | O_CLOEXEC, mode); })) {}
  ~Descriptor() { (void)close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool is_open() const noexcept { return fd_ >= 0; }
  int get() const noexcept { return fd_; }

  // False with errno. A close that was interrupted has closed (Linux), and what it would still report
  // was reported by fsync.
  bool close() noexcept {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || calls_.close(fd) == 0 || errno == EINTR;
  }

 private:
  FileCalls& calls_;
  int fd_;
};

bool write_all(FileCalls& calls, int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = uninterrupted([&] { return calls.write(fd, bytes.data(), bytes.size()); });
    if (written < 0) return false;
    if (written == 0) {  // no progress and no reason: a full device, on some file systems
      errno = ENOSPC;
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Without it a crash of the machine may lose the new name. The file is whole either way, so failure
// costs nothing but that.
void sync_directory(FileCalls& calls, const fs::path& directory) noexcept {
  Descriptor opened(calls, directory, O_RDONLY | O_DIRECTORY);
  if (opened.is_open()) (void)calls.fsync(opened.get());
}

}  // namespace

// Unlike process ids, random bits do not repeat among containers that share a directory.
std::string random_file_name() {
  std::array<std::uint8_t, 16> bits{};
  // Never short or interrupted for so few bytes; and a name that repeats is refused by O_EXCL.
  (void)::getrandom(bits.data(), bits.size(), 0);
  return hex(digest_of({reinterpret_cast<const char*>(bits.data()), bits.size()})).substr(0, 32);
}

int FileCalls::open(const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); }
ssize_t FileCalls::read(int fd, void* buffer, std::size_t bytes) { return ::read(fd, buffer, bytes); }
ssize_t FileCalls::write(int fd, const void* buffer, std::size_t bytes) { return ::write(fd, buffer, bytes); }
int FileCalls::fsync(int fd) { return ::fsync(fd); }
int FileCalls::close(int fd) { return ::close(fd); }
int FileCalls::fstat(int fd, struct stat* result) { return ::fstat(fd, result); }
int FileCalls::lstat(const char* path, struct stat* result) { return ::lstat(path, result); }
int FileCalls::mkdir(const char* path, mode_t mode) { return ::mkdir(path, mode); }
int FileCalls::rename(const char* from, const char* to) { return ::rename(from, to); }
int FileCalls::unlink(const char* path) { return ::unlink(path); }

int FileCalls::list(const char* path, std::vector<std::string>& names) {
  DIR* directory = ::opendir(path);
  if (directory == nullptr) return errno;
  errno = 0;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  const int reason = errno;
  ::closedir(directory);
  return reason;
}

FileSystem::FileSystem() : FileSystem(std::make_shared<FileCalls>()) {}
FileSystem::FileSystem(std::shared_ptr<FileCalls> calls) : calls_(std::move(calls)) {}

Result<std::optional<std::string>> FileSystem::read(const fs::path& path, std::size_t max_bytes) const {
  // O_NONBLOCK: a pipe in the file's place must not make us wait for a writer.
  Descriptor file(*calls_, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file.is_open()) {
    if (errno == ENOENT) return std::optional<std::string>{};
    if (errno == ELOOP) return unfit(path, "is a symbolic link");
    return failed("open", path, errno);
  }
  struct stat status{};
  if (calls_->fstat(file.get(), &status) != 0) return failed("examine", path, errno);
  if (!S_ISREG(status.st_mode)) return unfit(path, "is not a regular file");
  if ((status.st_uid != ::geteuid() && status.st_uid != 0) || (status.st_mode & writable_by_others) != 0)
    return unfit(path, "belongs to another user or may be written by others",
                 "only files that nobody else can have written are used");
  if (static_cast<std::uint64_t>(status.st_size) > max_bytes)
    return unfit(path, fmt::format("has {} bytes", status.st_size), fmt::format("at most {} are allowed", max_bytes));

  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t count =
        uninterrupted([&] { return calls_->read(file.get(), bytes.data() + filled, bytes.size() - filled); });
    if (count < 0) return failed("read", path, errno);
    if (count == 0) break;  // shorter than it was a moment ago
    filled += static_cast<std::size_t>(count);
  }
  bytes.resize(filled);
  return std::optional<std::string>(std::move(bytes));
}

Status FileSystem::publish(const fs::path& path, const fs::path& temporary, std::string_view bytes) const {
  Descriptor file(*calls_, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, private_file);
  if (!file.is_open()) return failed("create", temporary, errno);
  const auto give_up = [&](const char* what, const fs::path& where) {
    const Error error = failed(what, where, errno);
    (void)calls_->unlink(temporary.c_str());
    return error;
  };
  if (!write_all(*calls_, file.get(), bytes)) return give_up("write", temporary);
  if (uninterrupted([&] { return calls_->fsync(file.get()); }) != 0) return give_up("sync", temporary);
  if (!file.close()) return give_up("close", temporary);
  if (calls_->rename(temporary.c_str(), path.c_str()) != 0) return give_up("rename into", path);
  sync_directory(*calls_, path.parent_path());
  return {};
}

Status FileSystem::make_directories(const fs::path& path) const {
  if (calls_->mkdir(path.c_str(), private_directory) == 0 || errno == EEXIST) return {};
  const int reason = errno;
  const fs::path parent = path.parent_path();
  if (reason != ENOENT || parent.empty() || parent == path) return failed("create directory", path, reason);
  if (Status made = make_directories(parent); !made) return made;
  if (calls_->mkdir(path.c_str(), private_directory) == 0 || errno == EEXIST) return {};
  return failed("create directory", path, errno);
}

Result<std::vector<std::string>> FileSystem::list(const fs::path& directory) const {
  std::vector<std::string> names;
  const int reason = calls_->list(directory.c_str(), names);
  if (reason != 0 && reason != ENOENT) return failed("list", directory, reason);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::optional<FileInfo>> FileSystem::info(const fs::path& path) const {
  struct stat status{};
  if (calls_->lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::optional<FileInfo>{};
    return failed("examine", path, errno);
  }
  return std::optional(FileInfo{.is_file = S_ISREG(status.st_mode),
                                .is_directory = S_ISDIR(status.st_mode),
                                .is_symlink = S_ISLNK(status.st_mode),
                                .owner = status.st_uid,
                                .mode = status.st_mode & 07777,
                                .bytes = static_cast<std::uint64_t>(status.st_size),
                                .modified = status.st_mtime});
}

Status FileSystem::move(const fs::path& from, const fs::path& to) const {
  if (calls_->rename(from.c_str(), to.c_str()) != 0) return failed("move", from, errno);
  return {};
}

Status FileSystem::remove(const fs::path& path) const {
  if (calls_->unlink(path.c_str()) != 0 && errno != ENOENT) return failed("remove", path, errno);
  return {};
}

}  // namespace mlaindex
