#include "emulator/mma_arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "emulator/vector_clones.h"

namespace mlaindex::emulator {
namespace {

// One vector of the inner loops; compiled for AVX2 and for the baseline.
constexpr std::uint32_t kLanes = 8;
using Floats = float __attribute__((vector_size(32)));
using Integers = std::int32_t __attribute__((vector_size(32)));
using Unsigned = std::uint32_t __attribute__((vector_size(32)));
using Doubles = double __attribute__((vector_size(64)));
using Shorts = std::int16_t __attribute__((vector_size(16)));

constexpr std::uint32_t kCanonicalNan = 0x7FFFFFFF;
constexpr int kLeastExponent = -126;

// |value|'s exponent as the alignment step sees it; f32 subnormals count as 2^-126.
int alignment_exponent(float value) noexcept {
  if (value == 0) return Decoded::kZeroExponent;
  return std::max(std::ilogb(value), kLeastExponent);
}

// Keeps `bits` mantissa bits of a double, toward zero.
double truncate_mantissa(double value, int bits) noexcept {
  const auto raw = std::bit_cast<std::uint64_t>(value);
  return std::bit_cast<double>(raw & ~((std::uint64_t{1} << (52 - bits)) - 1));
}

// Toward zero, also below the normal range, where fewer bits are left.
float to_float_toward_zero(double value) noexcept {
  float result = static_cast<float>(value);
  if (std::isfinite(value) && std::fabs(double{result}) > std::fabs(value))
    result = std::nextafter(result, 0.0f);
  return result;
}

// Adds without error: the terms of one group are within 53 bits of each other for 4-bit operands.
struct Terms {
  const MmaOperand& a;
  const MmaOperand& b;
  std::uint32_t row, column;
  double product(std::uint32_t k) const noexcept { return double{a.value(row, k)} * b.value(column, k); }
  int exponent(std::uint32_t k) const noexcept { return a.exponent(row, k) + b.exponent(column, k); }
};

float dot_exact(const Terms& terms, std::uint32_t depth, double c) noexcept {
  double sum = c;
  for (std::uint32_t k = 0; k < depth; ++k) sum += terms.product(k);
  return static_cast<float>(sum);
}

float dot_truncated(const Terms& terms, std::uint32_t depth, float c, const AccumulationModel& model) noexcept {
  const std::uint32_t group = depth == 64 ? 16 : 1;
  int largest = alignment_exponent(c);
  for (std::uint32_t k = 0; k < depth; ++k) largest = std::max(largest, terms.exponent(k));
  if (largest <= Decoded::kZeroExponent) return 0.0f;
  largest = std::max(largest, kLeastExponent);
  const int shift = model.fraction_bits - largest;
  double sum = std::trunc(std::ldexp(double{c}, shift));
  for (std::uint32_t first = 0; first < depth; first += group) {
    double term = 0;
    for (std::uint32_t k = first; k < first + group; ++k) term += terms.product(k);
    sum += std::trunc(std::ldexp(term, shift));
  }
  return to_float_toward_zero(truncate_mantissa(std::ldexp(sum, -shift), model.mantissa_bits));
}

struct Row {
  const float* a;              // [depth]
  const std::int16_t* a_exponents;
  const float* b;              // [depth][stride]
  const std::int16_t* b_exponents;
  std::uint32_t depth, stride, columns;
};

// Four rows share each vector of B.
MLAINDEX_VECTOR_CLONES
void rows_exact(const Row& row, std::uint32_t a_stride, float (*d)[kMmaColumns], bool accumulate) noexcept {
  double a[kMmaRows][32];
  for (std::uint32_t r = 0; r < kMmaRows; ++r)
    for (std::uint32_t k = 0; k < row.depth; ++k) a[r][k] = row.a[r * a_stride + k];
  for (std::uint32_t n = 0; n < row.columns; n += kLanes) {
    Doubles sum[kMmaRows]{};
    if (accumulate)
      for (std::uint32_t r = 0; r < kMmaRows; ++r)
        for (std::uint32_t i = 0; i < kLanes; ++i) sum[r][i] = d[r][n + i];
    for (std::uint32_t k = 0; k < row.depth; ++k) {
      Floats narrow;
      std::memcpy(&narrow, row.b + std::size_t{k} * row.stride + n, sizeof narrow);
      const Doubles b = __builtin_convertvector(narrow, Doubles);
      for (std::uint32_t r = 0; r < kMmaRows; ++r) sum[r] += b * a[r][k];
    }
    for (std::uint32_t r = 0; r < kMmaRows; ++r)
      for (std::uint32_t i = 0; i < kLanes; ++i) d[r][n + i] = static_cast<float>(sum[r][i]);
  }
}

// Halves of at most 16 terms below 2^(fraction_bits + 2) each stay inside 31 bits.
MLAINDEX_VECTOR_CLONES
void row_truncated(const Row& row, float* d, bool accumulate, int fraction_bits, int mantissa_bits) noexcept {
  const std::uint64_t mask = ~((std::uint64_t{1} << (52 - mantissa_bits)) - 1);
  for (std::uint32_t n = 0; n < row.columns; n += kLanes) {
    Shorts widest = Shorts{} + Decoded::kZeroExponent;
    for (std::uint32_t k = 0; k < row.depth; ++k) {
      Shorts e;
      std::memcpy(&e, row.b_exponents + std::size_t{k} * row.stride + n, sizeof e);
      e += row.a_exponents[k];
      widest = e > widest ? e : widest;
    }
    float c[kLanes]{};
    if (accumulate) std::memcpy(c, d + n, sizeof c);
    float scale[kLanes];
    std::int32_t exponents[kLanes];
    bool all_zero[kLanes];
    for (std::uint32_t i = 0; i < kLanes; ++i) {
      const std::uint32_t field = (std::bit_cast<std::uint32_t>(c[i]) >> 23) & 0xFF;
      const int from_c = c[i] == 0 ? Decoded::kZeroExponent : std::max<int>(field, 1) - 127;
      all_zero[i] = widest[i] <= -500;  // then C alone decides
      exponents[i] = std::max<int>(widest[i], from_c);
      scale[i] = all_zero[i] ? 0.0f : std::bit_cast<float>(static_cast<std::uint32_t>(
                                          fraction_bits - exponents[i] + 127) << 23);
    }
    Floats scales;
    std::memcpy(&scales, scale, sizeof scales);
    Integers sums[2]{};
    for (std::uint32_t half = 0; half < 2; ++half) {
      Unsigned sum{};  // wraps where a column has NaN or infinity, which is summed elsewhere
      const std::uint32_t end = half == 0 ? row.depth / 2 : row.depth;
      for (std::uint32_t k = half == 0 ? 0 : row.depth / 2; k < end; ++k) {
        Floats b;
        std::memcpy(&b, row.b + std::size_t{k} * row.stride + n, sizeof b);
        sum += Unsigned(__builtin_convertvector(b * row.a[k] * scales, Integers));
      }
      sums[half] = Integers(sum);
    }
    for (std::uint32_t i = 0; i < kLanes; ++i) {
      double total;
      if (all_zero[i]) {
        const double unit = std::ldexp(1.0, exponents[i] - fraction_bits);
        total = c[i] == 0 ? 0.0 : std::trunc(c[i] / unit) * unit;
      } else {
        const double units = double(sums[0][i]) + double(sums[1][i]) +
                             double(std::trunc(c[i] * scale[i]));
        const double unit = std::bit_cast<double>(
            static_cast<std::uint64_t>(exponents[i] - fraction_bits + 1023) << 52);
        total = units * unit;
      }
      d[n + i] = static_cast<float>(std::bit_cast<double>(std::bit_cast<std::uint64_t>(total) & mask));
    }
  }
}

}  // namespace

void MmaOperand::reset(std::uint32_t rows, std::uint32_t depth, Order order) {
  rows_ = rows;
  depth_ = depth;
  order_ = order;
  const std::uint32_t inner = order == Order::row_major ? depth : rows;
  stride_ = (inner + kLanes - 1) / kLanes * kLanes;
  const std::size_t size = std::size_t{order == Order::row_major ? rows : depth} * stride_;
  values_.assign(size, 0.0f);
  exponents_.assign(size, Decoded::kZeroExponent);
  special_.assign(rows, 0);
}

void MmaOperand::set(std::uint32_t row, std::uint32_t k, Decoded element) noexcept {
  const std::size_t at = index(row, k);
  values_[at] = element.value;
  exponents_[at] = element.exponent;
  special_[row] |= !std::isfinite(element.value);
}

void MmaOperand::scale(std::uint32_t row, std::uint32_t first_k, std::uint32_t count, int exponent) noexcept {
  for (std::uint32_t k = first_k; k < first_k + count; ++k) {
    const std::size_t at = index(row, k);
    values_[at] = std::ldexp(values_[at], exponent);
    if (exponents_[at] != Decoded::kZeroExponent) exponents_[at] = static_cast<std::int16_t>(exponents_[at] + exponent);
  }
}

void MmaOperand::negate() noexcept {
  for (float& value : values_) value = -value;
}

float dot(const MmaOperand& a, std::uint32_t row, const MmaOperand& b, std::uint32_t column, float c,
          bool accumulate, const AccumulationModel& model) noexcept {
  if (!accumulate) c = 0.0f;
  const Terms terms{a, b, row, column};
  if (a.special(row) || b.special(column) || !std::isfinite(c)) {
    double sum = c;  // infinities behave as in exact arithmetic
    for (std::uint32_t k = 0; k < a.depth(); ++k) sum += terms.product(k);
    const float result = static_cast<float>(sum);
    return std::isnan(result) ? std::bit_cast<float>(kCanonicalNan) : result;
  }
  return model.exact ? dot_exact(terms, a.depth(), c) : dot_truncated(terms, a.depth(), c, model);
}

void multiply_rows(const MmaOperand& a, std::uint32_t row, const MmaOperand& b, float (*d)[kMmaColumns],
                   bool accumulate, const AccumulationModel& model, bool narrow) noexcept {
  const std::uint32_t columns = b.rows();
  const bool fast = narrow && columns % kLanes == 0 && a.depth() <= 32 && (model.exact || model.fraction_bits <= 25);
  float c[kMmaRows][kMmaColumns];
  for (std::uint32_t r = 0; r < kMmaRows; ++r) std::memcpy(c[r], d[r], columns * sizeof(float));
  if (fast) {
    const auto view = [&](std::uint32_t r) {
      const std::size_t at = std::size_t{r} * a.stride();
      return Row{a.values() + at, a.exponents() + at, b.values(), b.exponents(), a.depth(), b.stride(), columns};
    };
    if (model.exact) rows_exact(view(row), a.stride(), d, accumulate);
    else
      for (std::uint32_t r = 0; r < kMmaRows; ++r)
        row_truncated(view(row + r), d[r], accumulate, model.fraction_bits, model.mantissa_bits);
  }
  for (std::uint32_t r = 0; r < kMmaRows; ++r)
    for (std::uint32_t n = 0; n < columns; ++n)
      if (!fast || a.special(row + r) || b.special(n) || (accumulate && !(std::fabs(c[r][n]) < 0x1p100f)))
        d[r][n] = dot(a, row + r, b, n, c[r][n], accumulate, model);
}

}  // namespace mlaindex::emulator
