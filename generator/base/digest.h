// Content digests: BLAKE3-256 over length-prefixed fields, so that no two field lists collide by
// concatenation.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace mlaindex {

using Digest = std::array<std::uint8_t, 32>;

Digest digest_of(std::string_view bytes);

// 64 lower-case hex digits.
std::string hex(const Digest& digest);

// Digest of an ordered list of (label, value) fields; both are length-prefixed.
class DigestBuilder {
 public:
  DigestBuilder();
  ~DigestBuilder();
  DigestBuilder(DigestBuilder&&) noexcept;
  DigestBuilder& operator=(DigestBuilder&&) noexcept;

  DigestBuilder& add(std::string_view label, std::string_view value);
  Digest finish() const;

 private:
  struct Hasher;
  std::unique_ptr<Hasher> hasher_;
};

}  // namespace mlaindex
