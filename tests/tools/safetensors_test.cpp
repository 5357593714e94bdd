#include "tools/safetensors.h"

#include <cstring>

#include <catch2/catch.hpp>

#include "tests/tools/temporary_folder.h"
#include "tools/safetensors_header.h"

using namespace mlaindex;
using namespace mlaindex::tools;

namespace {

Tensor tensor(const char* dtype, std::vector<std::uint64_t> shape, std::string_view bytes) {
  Tensor result{dtype, std::move(shape), AlignedBytes(bytes.size())};
  if (!bytes.empty()) std::memcpy(result.data.data(), bytes.data(), bytes.size());
  return result;
}

std::string_view bytes_of(const Tensor& t) {
  return {reinterpret_cast<const char*>(t.data.data()), t.data.size()};
}

// A file with this header and this much data, whatever the header says.
std::string file_of(std::string_view header, std::size_t data_bytes) {
  std::string file(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file + std::string(header) + std::string(data_bytes, '\1');
}

}  // namespace

TEST_CASE("what is written is read back, aligned") {
  const TemporaryFolder folder;
  Safetensors out;
  out.metadata = {{"causal", "true"}, {"note", "quote \" and \\ and \xc3\xa9"}};
  out.tensors["a"] = tensor("F8_E4M3", {3, 1}, "xyz");
  out.tensors["b"] = tensor("F32", {2}, "01234567");
  out.tensors["none"] = tensor("I32", {0, 7}, "");
  out.tensors["scalar"] = tensor("F64", {}, "abcdefgh");
  REQUIRE(write_safetensors(folder.file("f"), out));

  const Result<Safetensors> in = read_safetensors(folder.file("f"));
  REQUIRE(in);
  CHECK(in->metadata == out.metadata);
  REQUIRE(in->tensors.size() == out.tensors.size());
  for (const auto& [name, expected] : out.tensors) {
    INFO(name);
    const Tensor& got = in->tensors.at(name);
    CHECK(got.dtype == expected.dtype);
    CHECK(got.shape == expected.shape);
    CHECK(bytes_of(got) == bytes_of(expected));
    CHECK(reinterpret_cast<std::uintptr_t>(got.data.data()) % 64 == 0);
  }
}

TEST_CASE("a file laid out by another writer is read") {
  const TemporaryFolder folder;
  write_bytes(folder.file("f"),
              file_of(R"({"z":{"dtype":"BF16","shape":[2,2],"data_offsets":[4,12]},)"
                      R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}   )", 12));
  const Result<Safetensors> in = read_safetensors(folder.file("f"));
  REQUIRE(in);
  CHECK(in->tensors.at("z").shape == std::vector<std::uint64_t>{2, 2});
  CHECK(in->tensors.at("a").data.size() == 4);
}

TEST_CASE("every truncation of a file is an error") {
  const TemporaryFolder folder;
  Safetensors out;
  out.tensors["q"] = tensor("F8_E4M3", {5}, "abcde");
  out.tensors["s"] = tensor("F32", {2}, "01234567");
  REQUIRE(write_safetensors(folder.file("whole"), out));
  const std::string whole = read_bytes(folder.file("whole"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    write_bytes(folder.file("cut"), whole.substr(0, size));
    const Result<Safetensors> in = read_safetensors(folder.file("cut"));
    REQUIRE_FALSE(in);
    CHECK(in.error().code == ErrorCode::invalid_file);
    CHECK(in.error().message.find("cut") != std::string::npos);
  }
  write_bytes(folder.file("long"), whole + "x");
  CHECK_FALSE(read_safetensors(folder.file("long")));
}

TEST_CASE("every single wrong byte is an error or a file of the same sizes") {
  const TemporaryFolder folder;
  Safetensors out;
  out.tensors["q"] = tensor("F8_E4M3", {2, 2}, "abcd");
  REQUIRE(write_safetensors(folder.file("whole"), out));
  const std::string whole = read_bytes(folder.file("whole"));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string wrong = whole;
    wrong[i] = static_cast<char>(wrong[i] ^ 0x11);
    write_bytes(folder.file("wrong"), wrong);
    const Result<Safetensors> in = read_safetensors(folder.file("wrong"));
    if (!in) continue;
    std::uint64_t total = 0;
    for (const auto& [name, t] : in->tensors) total += t.data.size();
    CHECK(total == 4);
  }
}

TEST_CASE("malformed headers are refused with the reason") {
  struct Malformed {
    const char* header;
    std::size_t data_bytes;
    const char* reason;
  };
  const auto malformed = GENERATE(values<Malformed>({
      {"", 0, "not valid JSON"},
      {"{", 0, "not valid JSON"},
      {"[]", 0, "not a JSON object"},
      {"{} x", 0, "not valid JSON"},
      {R"({"a":1})", 0, "'a' is not described by a JSON object"},
      {R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1, "'a' has no dtype"},
      {R"({"a":{"dtype":8,"shape":[1],"data_offsets":[0,1]}})", 1, "'a' has no dtype"},
      {R"({"a":{"dtype":"F7","shape":[1],"data_offsets":[0,1]}})", 1, "unknown dtype 'F7'"},
      {R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1, "its shape is not a list"},
      {R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1, "its shape is not a list"},
      {R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1, "its shape is not a list"},
      {R"({"a":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}})", 1, "its shape is not a list"},
      {R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1, "nests deeper"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, "not two non-negative integers"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[-1,0]}})", 1, "not two non-negative integers"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", 1, "bytes 1 to 0 of the data"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 1, "bytes 0 to 2 of the data, which has 1"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "F32 [2] takes 8 bytes"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0, "more bytes than 64 bits"},
      {R"({"a":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,0]}})", 0, "its shape is not a list"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", 3,
       "'b' starts at byte 1 of the data; expected 2"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})", 3,
       "'b' starts at byte 2 of the data; expected 1"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 2, "end at byte 1 of the data, which has 2"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1,
       "the key 'a' twice"},
      {R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", 1, "the key 'dtype' twice"},
      {R"({"__metadata__":[]})", 0, "__metadata__ is not a JSON object"},
      {R"({"__metadata__":{"causal":true}})", 0, "'causal' is not a string"},
      {R"({"a":{"b":{"c":{"d":{}}}}})", 0, "nests deeper"},
  }));
  INFO(malformed.header);
  const TemporaryFolder folder;
  write_bytes(folder.file("f"), file_of(malformed.header, malformed.data_bytes));
  const Result<Safetensors> in = read_safetensors(folder.file("f"));
  REQUIRE_FALSE(in);
  CHECK(in.error().code == ErrorCode::invalid_file);
  CHECK_THAT(in.error().message, Catch::Contains(malformed.reason));
}

TEST_CASE("a nest of a million brackets is refused, not followed") {
  const std::string deep(1'000'000, '[');
  const auto header = parse_safetensors_header(R"({"a":)" + deep, 0);
  REQUIRE_FALSE(header);
  CHECK_THAT(header.error().message, Catch::Contains("nests deeper"));
}

TEST_CASE("a header that claims more than the file has is refused before memory is taken") {
  const TemporaryFolder folder;
  write_bytes(folder.file("huge"), std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8) + "{}");
  CHECK_THAT(read_safetensors(folder.file("huge")).error().message, Catch::Contains("are allowed"));
  write_bytes(folder.file("big"), std::string("\x00\x00\x10\x00\x00\x00\x00\x00", 8) + "{}");
  CHECK_THAT(read_safetensors(folder.file("big")).error().message, Catch::Contains("truncated"));
}

TEST_CASE("what is no file is refused") {
  const TemporaryFolder folder;
  CHECK_THAT(read_safetensors(folder.file("absent")).error().message, Catch::Contains("no such file"));
  CHECK_THAT(read_safetensors(folder.file(".")).error().message, Catch::Contains("not a regular file"));
  CHECK_THAT(read_safetensors("/dev/zero").error().message, Catch::Contains("not a regular file"));
}

TEST_CASE("a failed write leaves the old file and nothing else") {
  const TemporaryFolder folder;
  Safetensors good;
  good.tensors["a"] = tensor("U8", {2}, "ab");
  REQUIRE(write_safetensors(folder.file("f"), good));
  Safetensors bad;
  bad.tensors["a"] = tensor("U8", {3}, "ab");
  const Status written = write_safetensors(folder.file("f"), bad);
  REQUIRE_FALSE(written);
  CHECK(written.error().code == ErrorCode::invalid_argument);
  CHECK(bytes_of(read_safetensors(folder.file("f"))->tensors.at("a")) == "ab");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.file(".")), {}) == 1);

  const Status nowhere = write_safetensors(folder.file("absent/f"), good);
  REQUIRE_FALSE(nowhere);
  CHECK_THAT(nowhere.error().message, Catch::Contains("could not be written"));
}
