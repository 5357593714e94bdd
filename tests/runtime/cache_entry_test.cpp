#include "runtime/cache_entry.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "generator/base/digest.h"
#include "tests/runtime/sample_entry.h"

using namespace mlaindex;

namespace {

constexpr std::size_t digest_bytes = 32;
constexpr std::size_t header_at = 40;

// The same bytes with a digest that fits them: what a careful forger would write.
std::string resealed(std::string bytes) {
  bytes.resize(bytes.size() - digest_bytes);
  const Digest digest = digest_of(bytes);
  return bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

std::string number(std::uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

// An entry with this header and the sizes that belong to it.
std::string with_header(const std::string& header) {
  const CacheEntry entry = sample_entry();
  return resealed("MLAINDEX" + number(1, 4) + number(0, 4) + number(header.size(), 8) +
                  number(entry.cubin.size(), 8) + number(entry.ptx.size(), 8) + header + entry.cubin + entry.ptx +
                  std::string(digest_bytes, '\0'));
}

nlohmann::json sample_header() {
  const std::string bytes = encode(sample_entry());
  const std::size_t size = static_cast<unsigned char>(bytes[16]) + 256U * static_cast<unsigned char>(bytes[17]);
  return nlohmann::json::parse(bytes.substr(header_at, size));
}

}  // namespace

TEST_CASE("cache entry: what is encoded is decoded") {
  const CacheEntry entry = sample_entry();
  const Result<CacheEntry> decoded = decode_cache_entry(encode(entry));
  REQUIRE(decoded.ok());
  CHECK(decoded->key.hex == entry.key.hex);
  CHECK(decoded->key.fields == entry.key.fields);
  CHECK(decoded->spec == entry.spec);
  CHECK(decoded->plan_name == entry.plan_name);
  CHECK(decoded->kernel_name == entry.kernel_name);
  CHECK(decoded->arch == entry.arch);
  CHECK(decoded->created == entry.created);
  CHECK(decoded->cubin == entry.cubin);
  CHECK(decoded->ptx == entry.ptx);
  CHECK(decoded->facts.entry == entry.facts.entry);
  CHECK(decoded->facts.registers == entry.facts.registers);
  CHECK(decoded->facts.frame_bytes == entry.facts.frame_bytes);
  CHECK(decoded->facts.min_stack_bytes == entry.facts.min_stack_bytes);
  CHECK(decoded->facts.static_shared_bytes == entry.facts.static_shared_bytes);
  CHECK(decoded->facts.parameter_bytes == entry.facts.parameter_bytes);
  CHECK(decoded->facts.max_threads == entry.facts.max_threads);
  CHECK(decoded->facts.code_bytes == entry.facts.code_bytes);
}

TEST_CASE("cache entry: the layout is the documented one") {
  const std::string bytes = encode(sample_entry());
  CHECK(bytes.substr(0, 16) == "MLAINDEX" + number(1, 4) + number(0, 4));
  CHECK(bytes.substr(24, 16) == number(11, 8) + number(13, 8));
  CHECK(bytes == with_header(bytes.substr(header_at, bytes.size() - header_at - digest_bytes - 11 - 13)));
}

TEST_CASE("cache entry: every flipped bit is noticed") {
  const std::string bytes = encode(sample_entry());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const Result<CacheEntry> decoded = decode_cache_entry(damaged);
      if (decoded.ok() || decoded.error().code != ErrorCode::invalid_file) FAIL("byte " << at << " bit " << bit);
    }
  }
}

TEST_CASE("cache entry: every truncation and every extension is noticed") {
  const std::string bytes = encode(sample_entry());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    if (decode_cache_entry(std::string_view(bytes).substr(0, size)).ok()) FAIL("size " << size);
    if (decode_cache_entry(std::string_view(bytes).substr(bytes.size() - size)).ok()) FAIL("last " << size);
  }
  for (std::size_t extra : {1U, 7U, 32U, 4096U}) CHECK_FALSE(decode_cache_entry(bytes + std::string(extra, '\0')).ok());
}

TEST_CASE("cache entry: sizes that do not fit are refused, whatever the digest says") {
  const std::string bytes = encode(sample_entry());
  for (std::size_t field : {16U, 24U, 32U}) {
    for (std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 31, ~std::uint64_t{0},
                                ~std::uint64_t{0} - 100, std::uint64_t{1} << 63}) {
      std::string forged = bytes;
      forged.replace(field, 8, number(value, 8));
      CHECK(decode_cache_entry(resealed(forged)).error().code == ErrorCode::invalid_file);
    }
  }
}

TEST_CASE("cache entry: any byte may be forged without harm") {
  const std::string bytes = encode(sample_entry());
  int accepted = 0;
  for (std::size_t at = 0; at + digest_bytes < bytes.size(); ++at) {
    for (int value : {0x00, 0x22, 0x7b, 0xff}) {
      std::string forged = bytes;
      forged[at] = static_cast<char>(value);
      accepted += decode_cache_entry(resealed(forged)).ok() ? 1 : 0;
    }
  }
  CHECK(accepted > 0);  // of the cubin, say: the digest is no signature
}

TEST_CASE("cache entry: a later format or an unknown flag is not damage") {
  for (std::size_t field : {8U, 12U}) {
    std::string later = encode(sample_entry());
    later[field] = 2;
    CHECK(decode_cache_entry(resealed(later)).error().code == ErrorCode::cache_trouble);
  }
}

TEST_CASE("cache entry: unknown header fields are ignored, known ones must be there and of their type") {
  nlohmann::json header = sample_header();
  header["written_by_a_later_version"] = {1, 2, 3};
  header["facts"]["more"] = "x";
  CHECK(decode_cache_entry(with_header(header.dump())).ok());

  const nlohmann::json whole = sample_header();
  for (const auto& [name, value] : whole.items()) {
    nlohmann::json without = whole;
    without.erase(name);
    CHECK(decode_cache_entry(with_header(without.dump())).error().code == ErrorCode::invalid_file);
    for (const char* other : {"null", "true", "-1.5", "[]", "{}", "[1]", "[[1,2]]", "[[\"a\"]]"}) {
      nlohmann::json wrong = whole;
      wrong[name] = nlohmann::json::parse(other);
      CHECK(decode_cache_entry(with_header(wrong.dump())).error().code == ErrorCode::invalid_file);
    }
  }
  for (const auto& [name, value] : whole["facts"].items()) {
    for (const char* other : {"null", "[\"a\",1,2]", "[1,2]", "0.5"}) {
      nlohmann::json wrong = whole;
      wrong["facts"][name] = nlohmann::json::parse(other);
      CHECK_FALSE(decode_cache_entry(with_header(wrong.dump())).ok());
    }
  }
}

TEST_CASE("cache entry: a header that is no JSON object is refused") {
  for (const std::string& header :
       {std::string(), std::string("["), std::string("3"), std::string("\xff\xfe"), std::string(10000, '[')})
    CHECK(decode_cache_entry(with_header(header)).error().code == ErrorCode::invalid_file);
}

TEST_CASE("cache entry: a key that is not the digest of its fields is refused") {
  nlohmann::json header = sample_header();
  header["key_fields"][1][1] = "nvrtc 13.0 bb";
  const Result<CacheEntry> decoded = decode_cache_entry(with_header(header.dump()));
  REQUIRE_FALSE(decoded.ok());
  CHECK(decoded.error().message == "the cache entry is damaged: its key is not the digest of its key fields");
}
