#include "runtime/cache_store.h"

#include <catch2/catch.hpp>
#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <unistd.h>

#include "tests/runtime/message_collector.h"
#include "tests/runtime/sample_entry.h"
#include "tests/runtime/temporary_directory.h"

using namespace mlaindex;
namespace fs = std::filesystem;

namespace {

Result<CacheStore> open(const fs::path& root) { return CacheStore::open(root, FileSystem(), Log(LogLevel::off)); }

fs::path path_of(const fs::path& root, const CacheEntry& entry) {
  return root / "v1" / entry.key.hex.substr(0, 2) / (entry.key.hex.substr(2) + ".mlaindex");
}

}  // namespace

TEST_CASE("cache store: what is stored is found, in its documented place, private") {
  const TemporaryDirectory directory;
  const fs::path root = directory / "deep/cache";
  const Result<CacheStore> store = open(root);
  REQUIRE(store.ok());
  const CacheEntry entry = sample_entry();
  CHECK_FALSE(store->find(entry.key).entry.has_value());
  REQUIRE(store->store(entry).ok());
  const CacheStore::Found found = store->find(entry.key);
  REQUIRE(found.entry.has_value());
  CHECK(found.entry->cubin == entry.cubin);
  CHECK(found.entry->ptx == entry.ptx);

  const fs::path path = path_of(root, entry);
  REQUIRE(fs::exists(path));
  CHECK(path.filename().string().size() <= 80);
  CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(fs::status(root).permissions() == fs::perms::owner_all);
  CHECK(count_files(root) == 1);
}

TEST_CASE("cache store: a directory that others control is refused") {
  const TemporaryDirectory directory;
  const auto refusal = [](const fs::path& root) {
    const Result<CacheStore> store = open(root);
    REQUIRE_FALSE(store.ok());
    CHECK(store.error().code == ErrorCode::cache_trouble);
    CHECK_FALSE(store.error().hint.empty());
    return store.error().message;
  };

  fs::create_directory(directory / "real");
  fs::create_directory_symlink(directory / "real", directory / "link");
  CHECK(refusal(directory / "link").ends_with("is a symbolic link"));
  CHECK(refusal(directory / "link/").ends_with("is a symbolic link"));

  fs::permissions(directory / "real", fs::perms::all);
  CHECK(refusal(directory / "real").find("may be written by everybody") != std::string::npos);
  fs::permissions(directory / "real", fs::perms::owner_all);
  CHECK(open(directory / "real").ok());

  write_bytes(directory / "file", "");
  CHECK(refusal(directory / "file").ends_with("is not a directory"));
  CHECK(refusal("").ends_with("has no name"));
  CHECK(refusal("/proc/none").starts_with("cannot create directory '/proc/none'"));

  if (::geteuid() == 0) {  // only root can give a directory away
    REQUIRE(::chown((directory / "real").c_str(), 12345, 12345) == 0);
    CHECK(refusal(directory / "real").find("belongs to user 12345") != std::string::npos);
  }
}

TEST_CASE("cache store: a damaged entry is a miss, is moved aside with one warning, and can be replaced") {
  const TemporaryDirectory directory;
  MessageCollector collector;
  const Result<CacheStore> store = CacheStore::open(directory.path(), FileSystem(), collector.log());
  REQUIRE(store.ok());
  const CacheEntry entry = sample_entry();
  REQUIRE(store->store(entry).ok());
  const fs::path path = path_of(directory.path(), entry);
  std::string bytes = read_bytes(path);
  bytes[bytes.size() / 2] ^= 1;
  write_bytes(path, bytes);

  const CacheStore::Found found = store->find(entry.key);
  CHECK_FALSE(found.entry.has_value());
  CHECK(found.quarantined);
  CHECK_FALSE(fs::exists(path));
  CHECK(read_bytes(directory.path() / "bad" / path.filename()) == bytes);
  REQUIRE(collector.messages.size() == 1);
  CHECK(collector.messages[0].second.find(path.string()) != std::string::npos);

  CHECK_FALSE(store->find(entry.key).quarantined);
  REQUIRE(store->store(entry).ok());
  CHECK(store->find(entry.key).entry.has_value());
}

TEST_CASE("cache store: whatever lies in an entry's place is a miss") {
  const TemporaryDirectory directory;
  const Result<CacheStore> store = open(directory.path());
  REQUIRE(store.ok());
  const CacheEntry entry = sample_entry();
  const fs::path path = path_of(directory.path(), entry);
  fs::create_directories(path.parent_path());
  const std::function<void()> things[] = {
      [&] { write_bytes(path, ""); },
      [&] { write_bytes(path, encode(sample_entry("another compiler"))); },
      [&] { fs::create_symlink("/etc/passwd", path); },
      [&] { fs::create_directory(path); },
      [&] { fs::resize_file((write_bytes(path, ""), path), max_cache_entry_bytes + 1); },
      [&] { write_bytes(path, encode(entry)), fs::permissions(path, fs::perms::all); }};
  for (const auto& put : things) {
    put();
    const CacheStore::Found found = store->find(entry.key);
    CHECK_FALSE(found.entry.has_value());
    CHECK(found.quarantined);
    fs::remove_all(directory.path() / "bad");
    REQUIRE(store->store(entry).ok());
    CHECK(store->find(entry.key).entry.has_value());
    fs::remove(path);
  }
}

TEST_CASE("cache store: damaged files are kept up to a number") {
  const TemporaryDirectory directory;
  const Result<CacheStore> store = open(directory.path());
  REQUIRE(store.ok());
  for (int i = 0; i < 40; ++i) {
    const CacheEntry entry = sample_entry(std::to_string(i));
    REQUIRE(store->store(entry).ok());
    write_bytes(path_of(directory.path(), entry), "damaged");
    CHECK(store->find(entry.key).quarantined);
  }
  CHECK(count_files(directory.path() / "bad") == 16);
  CHECK(count_files(directory.path() / "v1") == 0);
}

TEST_CASE("cache store: listing verifies every entry, changes nothing and sees only its own files") {
  const TemporaryDirectory directory;
  const Result<CacheStore> store = open(directory.path());
  REQUIRE(store.ok());
  CHECK(store->list()->empty());
  for (int i = 0; i < 5; ++i) REQUIRE(store->store(sample_entry(std::to_string(i))).ok());
  const CacheEntry damaged = sample_entry("3");
  write_bytes(path_of(directory.path(), damaged), "damaged");
  const CacheEntry misplaced = sample_entry("4");
  write_bytes(path_of(directory.path(), misplaced), encode(sample_entry("0")));
  write_bytes(directory.path() / "v1/notes.txt", "mine");
  write_bytes(path_of(directory.path(), damaged).parent_path() / "notes.mlaindex", "mine");

  const Result<std::vector<CacheListing>> listings = store->list();
  REQUIRE(listings->size() == 5);
  int problems = 0;
  for (const CacheListing& listing : *listings) {
    CHECK(listing.entry.has_value() == listing.problem.empty());
    CHECK(listing.bytes == fs::file_size(listing.path));
    CHECK(listing.modified > 1600000000);
    if (listing.entry) CHECK(listing.entry->key.hex == listing.key);
    else problems += 1;
  }
  CHECK(problems == 2);
  CHECK(count_files(directory.path()) == 7);
  CHECK(std::is_sorted(listings->begin(), listings->end(), [](auto& a, auto& b) { return a.key < b.key; }));

  for (const CacheListing& listing : *listings) {
    if (!listing.entry) CHECK(store->quarantine(listing).ok());
  }
  CHECK(store->list()->size() == 3);
}

TEST_CASE("cache store: an entry is removed by its key, and a key is nothing but a key") {
  const TemporaryDirectory directory;
  const Result<CacheStore> store = open(directory.path());
  REQUIRE(store.ok());
  const CacheEntry entry = sample_entry();
  REQUIRE(store->store(entry).ok());
  REQUIRE(store->remove(entry.key.hex).ok());
  CHECK(store->list()->empty());
  CHECK(store->remove(entry.key.hex).ok());
  for (const std::string& wrong : {std::string(), std::string("../../etc/passwd"), std::string(64, 'g'),
                                   entry.key.hex + "0"})
    CHECK(store->remove(wrong).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("cache store: a relative root is that of the moment it was opened") {
  const TemporaryDirectory directory;
  const fs::path before = fs::current_path();
  fs::current_path(directory.path());
  const Result<CacheStore> store = open("relative");
  fs::current_path(before);
  REQUIRE(store.ok());
  REQUIRE(store->store(sample_entry()).ok());
  CHECK(fs::exists(directory / "relative/v1"));
}

TEST_CASE("cache store: readers among writers of one key see whole entries only") {
  const TemporaryDirectory directory;
  const Result<CacheStore> store = open(directory.path());
  REQUIRE(store.ok());
  CacheEntry entry = sample_entry();
  entry.cubin.assign(200000, 'c');
  REQUIRE(store->store(entry).ok());
  std::atomic<int> misses{0}, failures{0};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 2; ++writer)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) failures += store->store(entry).ok() ? 0 : 1;
    });
  for (int reader = 0; reader < 2; ++reader)
    threads.emplace_back([&] {
      for (int i = 0; i < 60; ++i) misses += store->find(entry.key).entry ? 0 : 1;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(misses == 0);
  CHECK(failures == 0);
  CHECK(count_files(directory.path()) == 1);
}
