// One element of a score buffer: rounding to nearest even, storing and loading.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "generator/spec.h"

namespace mlaindex {

// The bits of the bf16 nearest to the value, ties to even.
inline std::uint16_t bf16_bits(double value) noexcept {
  if (std::isnan(value)) return 0x7fff;
  // Rounding twice would be wrong at ties: the first rounding, to f32, is to odd, so that the second
  // still sees on which side of a tie the value lies.
  const float nearest = static_cast<float>(value);
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  if (static_cast<double>(nearest) != value) bits |= 1;
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline double bf16_value(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// The bits of the score nearest to the value, in the low bits.
inline std::uint32_t score_bits(ScoreType type, double value) noexcept {
  if (type == ScoreType::bf16) return bf16_bits(value);
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

inline double score_value(ScoreType type, std::uint32_t bits) noexcept {
  if (type == ScoreType::bf16) return bf16_value(static_cast<std::uint16_t>(bits));
  return std::bit_cast<float>(bits);
}

inline double round_score(ScoreType type, double value) noexcept {
  return score_value(type, score_bits(type, value));
}

// `scores` need not be aligned.
inline void store_score(std::byte* scores, ScoreType type, std::int64_t index, std::uint32_t bits) noexcept {
  if (type == ScoreType::bf16) {
    const auto half = static_cast<std::uint16_t>(bits);
    std::memcpy(scores + 2 * index, &half, 2);
  } else {
    std::memcpy(scores + 4 * index, &bits, 4);
  }
}

inline std::uint32_t load_score(const std::byte* scores, ScoreType type, std::int64_t index) noexcept {
  if (type == ScoreType::bf16) {
    std::uint16_t half;
    std::memcpy(&half, scores + 2 * index, 2);
    return half;
  }
  std::uint32_t bits;
  std::memcpy(&bits, scores + 4 * index, 4);
  return bits;
}

}  // namespace mlaindex
