#include "tests/hardware/facts/truncated_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mlaindex::hardware {
namespace {

// sign * magnitude * 2^(exponent - fraction), with the exponent that takes part in the alignment.
struct Term {
  std::int64_t magnitude = 0;
  int exponent = 0;
  int fraction = 0;
  bool negative = false;
};

struct Small {
  int magnitude, exponent;  // magnitude * 2^(exponent - 3)
  bool negative;
};

Small decode(std::uint8_t code) {
  const int field = code >> 3 & 15, mantissa = code & 7;
  return {field == 0 ? mantissa : 8 + mantissa, field == 0 ? -6 : field - 7, code >> 7 != 0};
}

Term product(std::uint8_t a, std::uint8_t b) {
  const Small x = decode(a), y = decode(b);
  return {std::int64_t{x.magnitude} * y.magnitude, x.exponent + y.exponent, 6, x.negative != y.negative};
}

Term term_of(float c) {
  const auto bits = std::bit_cast<std::uint32_t>(c);
  const int field = static_cast<int>(bits >> 23 & 255);
  const std::int64_t mantissa = bits & 0x7fffff;
  return {field == 0 ? mantissa : mantissa | 0x800000, field == 0 ? -126 : field - 127, 23, bits >> 31 != 0};
}

// In units of 2^(largest - fraction_bits), cut toward zero.
std::int64_t aligned(const Term& term, int largest, int fraction_bits) {
  const int shift = term.exponent - term.fraction - largest + fraction_bits;
  if (shift < -62) return 0;
  const std::int64_t magnitude = shift >= 0 ? term.magnitude << shift : term.magnitude >> -shift;
  return term.negative ? -magnitude : magnitude;
}

}  // namespace

float truncated_sum(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, float c, const SumModel& model) {
  Term terms[33];
  const std::size_t count = a.size();
  for (std::size_t i = 0; i < count; ++i) terms[i] = product(a[i], b[i]);
  terms[count] = term_of(c);
  int largest = -126;
  for (std::size_t i = 0; i <= count; ++i)
    if (terms[i].magnitude != 0) largest = std::max(largest, terms[i].exponent);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i <= count; ++i) sum += aligned(terms[i], largest, model.fraction_bits);
  std::uint64_t magnitude = static_cast<std::uint64_t>(std::abs(sum));
  if (const int surplus = std::bit_width(magnitude) - 1 - model.mantissa_bits; surplus > 0)
    magnitude = magnitude >> surplus << surplus;
  const double result = std::ldexp(static_cast<double>(magnitude), largest - model.fraction_bits);
  return static_cast<float>(sum < 0 ? -result : result);
}

}  // namespace mlaindex::hardware
