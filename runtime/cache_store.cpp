#include "runtime/cache_store.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "generator/base/format.h"

namespace mlaindex {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view entry_suffix = ".mlaindex";
constexpr std::size_t key_digits = 64;
constexpr std::size_t folder_digits = 2;
constexpr std::size_t max_bad_files = 16;  // enough to look into a fault, too few to fill a disk

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Of a file that a folder of entries may hold: 62 digits and the suffix.
bool is_entry_name(std::string_view name) {
  constexpr std::size_t digits = key_digits - folder_digits;
  return name.size() == digits + entry_suffix.size() && name.ends_with(entry_suffix) && is_hex(name.substr(0, digits));
}

Error refused(const fs::path& root, std::string_view why) {
  return Error{ErrorCode::cache_trouble, fmt::format("the cache directory '{}' {}", root.string(), why),
               "choose a directory of your own with --cache-dir or MLAINDEX_JIT_CACHE_DIR"};
}

// An absolute path without a slash at its end, which would make lstat follow a symbolic link.
fs::path normalised(const fs::path& root) {
  std::error_code ignored;
  fs::path absolute = fs::absolute(root, ignored).lexically_normal();
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

}  // namespace

CacheStore::CacheStore(fs::path root, FileSystem files, Log log)
    : root_(std::move(root)), files_(std::move(files)), log_(std::move(log)) {}

Result<CacheStore> CacheStore::open(fs::path root, FileSystem files, Log log) {
  if (root.empty()) return refused(root, "has no name");
  root = normalised(root);
  if (Status made = files.make_directories(root); !made) return made.error();
  const Result<std::optional<FileInfo>> info = files.info(root);
  if (!info) return info.error();
  if (!*info) return refused(root, "has vanished");
  if ((*info)->is_symlink) return refused(root, "is a symbolic link");
  if (!(*info)->is_directory) return refused(root, "is not a directory");
  if ((*info)->owner != ::geteuid() && (*info)->owner != 0)
    return refused(root, fmt::format("belongs to user {}, who could put kernels there", (*info)->owner));
  if (((*info)->mode & S_IWOTH) != 0) return refused(root, "may be written by everybody, who could put kernels there");
  return CacheStore(std::move(root), std::move(files), std::move(log));
}

fs::path CacheStore::entry_path(const std::string& key) const {
  return root_ / "v1" / key.substr(0, folder_digits) / (key.substr(folder_digits) + std::string(entry_suffix));
}

CacheStore::Found CacheStore::find(const CacheKey& key) const {
  const fs::path path = entry_path(key.hex);
  Result<std::optional<std::string>> bytes = files_.read(path, max_cache_entry_bytes);
  Error error;
  if (bytes) {
    if (!*bytes) return {};
    Result<CacheEntry> entry = decode_cache_entry(**bytes);
    if (entry && entry->key.hex == key.hex) return {std::move(entry).value(), false};
    error = entry ? Error{ErrorCode::invalid_file, "it holds the kernel of another key", ""} : entry.error();
  } else {
    error = bytes.error();
  }

  if (error.code != ErrorCode::invalid_file) {
    log_.warn_once("cache read", "a cached kernel is not used, it is compiled instead: " + error.text());
    return {};
  }
  const Status moved = move_aside(path);
  log_.warn(fmt::format("'{}' is not used and its kernel is compiled again: {}{}", path.string(), error.message,
                        moved ? "" : "; moving it aside failed: " + moved.error().text()));
  return {std::nullopt, moved.ok()};
}

Status CacheStore::store(const CacheEntry& entry) const {
  const fs::path path = entry_path(entry.key.hex);
  const fs::path temporaries = root_ / "tmp";
  for (const fs::path& directory : {temporaries, path.parent_path()}) {
    if (Status made = files_.make_directories(directory); !made) return made;
  }
  return files_.publish(path, temporaries / random_file_name(), encode(entry));
}

Status CacheStore::move_aside(const fs::path& path) const {
  const fs::path bad = root_ / "bad";
  if (Status made = files_.make_directories(bad); !made) return made;
  const Result<std::vector<std::string>> names = files_.list(bad);
  if (!names) return names.error();
  if (names->size() >= max_bad_files) return files_.remove(path);
  return files_.move(path, bad / path.filename());
}

Result<std::vector<CacheListing>> CacheStore::list() const {
  std::vector<CacheListing> listings;
  const fs::path entries = root_ / "v1";
  const Result<std::vector<std::string>> folders = files_.list(entries);
  if (!folders) return folders.error();
  for (const std::string& folder : *folders) {
    if (folder.size() != folder_digits || !is_hex(folder)) continue;
    const Result<std::vector<std::string>> names = files_.list(entries / folder);
    if (!names) return names.error();
    for (const std::string& name : *names) {
      if (is_entry_name(name)) listings.push_back(examine(entries / folder / name));
    }
  }
  return listings;
}

CacheListing CacheStore::examine(const fs::path& path) const {
  CacheListing listing;
  listing.path = path;
  listing.key = path.parent_path().filename().string() + path.filename().string().substr(0, key_digits - folder_digits);
  if (const auto info = files_.info(path); info && *info) {
    listing.bytes = (*info)->bytes;
    listing.modified = (*info)->modified;
  }
  const Result<std::optional<std::string>> bytes = files_.read(path, max_cache_entry_bytes);
  if (!bytes || !*bytes) {
    listing.problem = bytes ? "it has vanished" : bytes.error().text();
    return listing;
  }
  Result<CacheEntry> entry = decode_cache_entry(**bytes);
  if (!entry) listing.problem = entry.error().message;
  else if (entry->key.hex != listing.key) listing.problem = "it holds the kernel of another key, " + entry->key.hex;
  else listing.entry = std::move(entry).value();
  return listing;
}

Status CacheStore::quarantine(const CacheListing& listing) const { return move_aside(listing.path); }

Status CacheStore::remove(const std::string& key) const {
  if (key.size() != key_digits || !is_hex(key))
    return Error{ErrorCode::invalid_argument, fmt::format("'{}' is not a key", key), "a key has 64 hex digits, in lower case"};
  return files_.remove(entry_path(key));
}

}  // namespace mlaindex
