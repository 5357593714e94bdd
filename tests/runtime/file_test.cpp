#include "runtime/file.h"

#include <catch2/catch.hpp>
#include <unistd.h>

#include "tests/runtime/faulty_calls.h"
#include "tests/runtime/temporary_directory.h"

using namespace mlaindex;
namespace fs = std::filesystem;

TEST_CASE("file: what was published is read back, private and with no temporary left") {
  const TemporaryDirectory directory;
  const FileSystem files;
  const std::string bytes("a\0b", 3);
  REQUIRE(files.publish(directory / "final", directory / "temporary", bytes).ok());
  CHECK(**files.read(directory / "final", 100) == bytes);
  CHECK_FALSE(fs::exists(directory / "temporary"));
  CHECK((*files.info(directory / "final"))->mode == 0600);
  REQUIRE(files.publish(directory / "final", directory / "temporary", "replaced").ok());
  CHECK(**files.read(directory / "final", 100) == "replaced");
}

TEST_CASE("file: a path that does not exist is nothing, not an error") {
  const TemporaryDirectory directory;
  const FileSystem files;
  const auto bytes = files.read(directory / "none", 100);
  REQUIRE(bytes.ok());
  CHECK_FALSE(bytes->has_value());
  CHECK_FALSE(files.info(directory / "none")->has_value());
  CHECK(files.list(directory / "none")->empty());
  CHECK(files.remove(directory / "none").ok());
}

TEST_CASE("file: only a regular file of ours that nobody else may write is read") {
  const TemporaryDirectory directory;
  const FileSystem files;
  const fs::path file = directory / "file";
  write_bytes(file, "12345");
  const auto code = [&](const fs::path& path, std::size_t most) { return files.read(path, most).error().code; };

  CHECK(code(file, 4) == ErrorCode::invalid_file);
  CHECK(files.read(file, 5).ok());

  fs::create_symlink(file, directory / "link");
  CHECK(code(directory / "link", 100) == ErrorCode::invalid_file);
  CHECK(code(directory.path(), 100) == ErrorCode::invalid_file);
  REQUIRE(::mkfifo((directory / "pipe").c_str(), 0600) == 0);
  CHECK(code(directory / "pipe", 100) == ErrorCode::invalid_file);  // and it does not wait for a writer

  for (const auto loose : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(file, fs::perms::owner_all | loose);
    CHECK(code(file, 100) == ErrorCode::invalid_file);
  }
  if (::geteuid() == 0) {  // only root can give a file away
    fs::permissions(file, fs::perms::owner_all);
    REQUIRE(::chown(file.c_str(), 12345, 12345) == 0);
    CHECK(code(file, 100) == ErrorCode::invalid_file);
  }
}

TEST_CASE("file: reads and writes in pieces are completed") {
  const TemporaryDirectory directory;
  const auto calls = std::make_shared<FaultyCalls>();
  calls->piece = 7;
  const FileSystem files(calls);
  const std::string bytes(1000, 'x');
  REQUIRE(files.publish(directory / "final", directory / "temporary", bytes).ok());
  CHECK(**files.read(directory / "final", 1000) == bytes);
}

TEST_CASE("file: calls that a signal interrupts are repeated") {
  const TemporaryDirectory directory;
  const auto calls = std::make_shared<FaultyCalls>();
  calls->reason = EINTR;
  const FileSystem files(calls);
  // open, write, fsync, close of a publication; open, fstat, read of a reading.
  for (calls->fail_at = 0; calls->fail_at < 4; ++calls->fail_at) {
    calls->calls = 0;
    CHECK(files.publish(directory / "final", directory / "temporary", "bytes").ok());
  }
  for (int at : {0, 2}) {
    calls->calls = 0;
    calls->fail_at = at;
    CHECK(**files.read(directory / "final", 100) == "bytes");
  }
}

TEST_CASE("file: a publication that fails leaves the old file and no temporary") {
  const TemporaryDirectory directory;
  write_bytes(directory / "final", "old");
  fs::permissions(directory / "final", fs::perms::owner_read | fs::perms::owner_write);
  const auto calls = std::make_shared<FaultyCalls>();
  const FileSystem files(calls);
  for (int reason : {ENOSPC, EDQUOT, EIO, EROFS, EFBIG}) {
    for (int at = 0; at < 5; ++at) {  // open, write, fsync, close, rename
      calls->calls = 0;
      calls->fail_at = at;
      calls->reason = reason;
      const Status status = files.publish(directory / "final", directory / "temporary", "new");
      REQUIRE_FALSE(status.ok());
      CHECK(status.error().code == ErrorCode::cache_trouble);
      CHECK(status.error().message.find(directory.path().string()) != std::string::npos);
      CHECK(read_bytes(directory / "final") == "old");
      CHECK(count_files(directory.path()) == 1);
    }
  }
}

TEST_CASE("file: a full disk says so and what to do") {
  const TemporaryDirectory directory;
  const auto calls = std::make_shared<FaultyCalls>();
  calls->fail_at = 1;
  calls->reason = ENOSPC;
  const Status status = FileSystem(calls).publish(directory / "final", directory / "temporary", "new");
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message.find("No space left on device") != std::string::npos);
  CHECK(status.error().hint == "free some space, or choose another cache directory");
}

TEST_CASE("file: a temporary that exists already is not written to") {
  const TemporaryDirectory directory;
  write_bytes(directory / "temporary", "someone else's");
  CHECK_FALSE(FileSystem().publish(directory / "final", directory / "temporary", "new").ok());
  CHECK(read_bytes(directory / "temporary") == "someone else's");
  CHECK_FALSE(fs::exists(directory / "final"));
}

TEST_CASE("file: directories are made with their parents, private") {
  const TemporaryDirectory directory;
  const FileSystem files;
  REQUIRE(files.make_directories(directory / "a/b/c").ok());
  REQUIRE(files.make_directories(directory / "a/b/c").ok());
  CHECK((*files.info(directory / "a/b"))->mode == 0700);
  write_bytes(directory / "file", "");
  CHECK(files.make_directories(directory / "file/d").error().code == ErrorCode::cache_trouble);
  CHECK(files.make_directories("/proc/none/d").error().code == ErrorCode::cache_trouble);
}
