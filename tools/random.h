// Random numbers that are the same on every machine: integer arithmetic and exact conversions only.
#pragma once

#include <cstdint>

namespace mlaindex::tools {

// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t bits() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  // In [low, high]; high - low < 2^32.
  std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
    const std::uint64_t range = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>((bits() >> 32) * range >> 32);
  }

  // Mean 0, variance 1, bell-shaped, within +-4.9: the sum of eight 16-bit integers. No logarithm
  // or cosine, whose last bits differ between C libraries.
  float normal() noexcept {
    std::int32_t sum = -4 * 65535;
    for (int draw = 0; draw < 2; ++draw) {
      const std::uint64_t word = bits();
      for (int shift = 0; shift < 64; shift += 16) sum += static_cast<std::int32_t>(word >> shift & 0xffff);
    }
    return static_cast<float>(sum) * 1.8688e-5f;  // 1 / (65536 sqrt(8/12))
  }

 private:
  std::uint64_t state_;
};

}  // namespace mlaindex::tools
