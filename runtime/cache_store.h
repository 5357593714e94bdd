// The disk cache: a directory of entries.
//
//   <root>/v1/ab/<62 hex digits>.mlaindex   one entry; ab are the first two digits of its key
//   <root>/tmp/                             files being written, renamed into place when complete
//   <root>/bad/                             damaged entries moved aside, a bounded number
//
// Directories have mode 0700, files 0600. The names lock, v2, ... are reserved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "generator/base/result.h"
#include "runtime/cache_entry.h"
#include "runtime/file.h"
#include "runtime/log.h"

namespace mlaindex {

// An entry as found on disk.
struct CacheListing {
  std::filesystem::path path;
  std::string key;             // from the file's name
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;   // seconds since 1970
  std::optional<CacheEntry> entry;  // when it verifies
  std::string problem;         // when it does not
};

// Thread-safe; several processes may share a root. Warnings go to the log, once per cause.
class CacheStore {
 public:
  // Creates the root when missing. Errors: cache_trouble for a root that is a symbolic link, belongs
  // to another user (root excepted), may be written by everybody, or cannot be made.
  static Result<CacheStore> open(std::filesystem::path root, FileSystem files, Log log);

  // What a lookup found. Bytes leave only after they verified and carry the key asked for.
  struct Found {
    std::optional<CacheEntry> entry;
    bool quarantined = false;  // a damaged file was moved aside
  };
  // Never fails: a file that cannot be read or does not verify is a miss, with one warning.
  Found find(const CacheKey& key) const;

  // Publishes atomically, replacing what is there. Error: cache_trouble; nothing is left behind.
  Status store(const CacheEntry& entry) const;

  // Every file of the cache in order of key, each read and verified. Changes nothing.
  Result<std::vector<CacheListing>> list() const;

  // Moves aside a listed file that does not verify.
  Status quarantine(const CacheListing& listing) const;

  // By full key (64 hex digits). Success when there was none.
  Status remove(const std::string& key) const;

  const std::filesystem::path& root() const noexcept { return root_; }

 private:
  CacheStore(std::filesystem::path root, FileSystem files, Log log);

  std::filesystem::path entry_path(const std::string& key) const;
  CacheListing examine(const std::filesystem::path& path) const;
  Status move_aside(const std::filesystem::path& path) const;

  std::filesystem::path root_;
  FileSystem files_;
  Log log_;
};

}  // namespace mlaindex
