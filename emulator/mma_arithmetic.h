// What one tensor-core instruction adds up: D = A * B + C over its K elements.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/number_format.h"

namespace mlaindex::emulator {

// How the sum of one instruction is rounded. PTX leaves it open; two readings are offered.
struct AccumulationModel {
  // Exact products and sum, rounded once to the nearest f32.
  bool exact = true;
  // Else: every term is aligned to the largest exponent and truncated to `fraction_bits`, the
  // truncated terms are added exactly, and the sum is truncated to `mantissa_bits`.
  int fraction_bits = 25;
  int mantissa_bits = 23;
};

inline constexpr AccumulationModel kExact{};
inline constexpr AccumulationModel kHopperFp8{false, 13, 13};
inline constexpr AccumulationModel kHopper16Bit{false, 25, 23};
inline constexpr AccumulationModel kBlackwell{false, 25, 23};
inline constexpr AccumulationModel kBlackwellFp4{false, 35, 23};

// One operand of one instruction, decoded. A is stored [row][k], B is stored [k][row] so that the
// inner loop runs along N.
class MmaOperand {
 public:
  enum class Order : std::uint8_t { row_major, k_major };
  // Keeps its storage from one use to the next.
  void reset(std::uint32_t rows, std::uint32_t depth, Order order);
  void set(std::uint32_t row, std::uint32_t k, Decoded element) noexcept;
  // Multiplies a group of elements of `row` by 2^exponent (block scales).
  void scale(std::uint32_t row, std::uint32_t first_k, std::uint32_t count, int exponent) noexcept;
  void negate() noexcept;

  std::uint32_t rows() const noexcept { return rows_; }
  std::uint32_t depth() const noexcept { return depth_; }
  std::uint32_t stride() const noexcept { return stride_; }
  float value(std::uint32_t row, std::uint32_t k) const noexcept { return values_[index(row, k)]; }
  int exponent(std::uint32_t row, std::uint32_t k) const noexcept { return exponents_[index(row, k)]; }
  bool special(std::uint32_t row) const noexcept { return special_[row]; }  // holds NaN or infinity
  const float* values() const noexcept { return values_.data(); }
  const std::int16_t* exponents() const noexcept { return exponents_.data(); }

 private:
  std::size_t index(std::uint32_t row, std::uint32_t k) const noexcept {
    return order_ == Order::row_major ? std::size_t{row} * stride_ + k : std::size_t{k} * stride_ + row;
  }
  std::uint32_t rows_ = 0, depth_ = 0, stride_ = 0;
  Order order_ = Order::row_major;
  std::vector<float> values_;
  std::vector<std::int16_t> exponents_;
  std::vector<std::uint8_t> special_;
};

// One element: the definition that the fast path must agree with bit for bit. `c` is ignored unless
// `accumulate`. For depth 64 (4-bit kinds) groups of 16 products are added before the alignment.
float dot(const MmaOperand& a, std::uint32_t row, const MmaOperand& b, std::uint32_t column, float c,
          bool accumulate, const AccumulationModel& model) noexcept;

// Rows of D computed together, and their longest.
inline constexpr std::uint32_t kMmaRows = 4, kMmaColumns = 256;

// Rows [row, row + kMmaRows) of D for all columns of B; `d` holds b.rows() values a row, read as C if
// `accumulate`. A is row_major, B is k_major. `narrow` promises products that are exact in f32 and
// exponents of formats of at most 8 bits without block scales; it selects the fast path.
void multiply_rows(const MmaOperand& a, std::uint32_t row, const MmaOperand& b, float (*d)[kMmaColumns],
                   bool accumulate, const AccumulationModel& model, bool narrow) noexcept;

}  // namespace mlaindex::emulator
