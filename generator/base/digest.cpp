#include "generator/base/digest.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/BLAKE3.h>

namespace mlaindex {
namespace {

Digest finalised(const llvm::BLAKE3& hasher) {
  llvm::BLAKE3 copy = hasher;  // final() is not const in every LLVM
  return copy.final<std::tuple_size_v<Digest>>();
}

}  // namespace

struct DigestBuilder::Hasher {
  llvm::BLAKE3 state;

  void add_length(std::uint64_t length) {
    std::array<std::uint8_t, 8> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(length >> (8 * i));
    state.update(llvm::ArrayRef<std::uint8_t>(bytes));
  }
};

Digest digest_of(std::string_view bytes) {
  llvm::BLAKE3 hasher;
  hasher.update(llvm::StringRef(bytes));
  return finalised(hasher);
}

std::string hex(const Digest& digest) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (std::uint8_t byte : digest) {
    text.push_back(digits[byte >> 4]);
    text.push_back(digits[byte & 15]);
  }
  return text;
}

DigestBuilder::DigestBuilder() : hasher_(std::make_unique<Hasher>()) {}
DigestBuilder::~DigestBuilder() = default;
DigestBuilder::DigestBuilder(DigestBuilder&&) noexcept = default;
DigestBuilder& DigestBuilder::operator=(DigestBuilder&&) noexcept = default;

DigestBuilder& DigestBuilder::add(std::string_view label, std::string_view value) {
  for (std::string_view part : {label, value}) {
    hasher_->add_length(part.size());
    hasher_->state.update(llvm::StringRef(part));
  }
  return *this;
}

Digest DigestBuilder::finish() const { return finalised(hasher_->state); }

}  // namespace mlaindex
