// How far a tensor core's scores may be from the exact ones, element by element.
#pragma once

#include <cstdint>
#include <span>

#include "generator/arch.h"

namespace mlaindex {

// How a matrix unit accumulates e4m3 products into f32: every instruction (32 elements of depth)
// aligns its products and the accumulator to the largest exponent, cuts each to `fraction_bits`
// below it, adds exactly, and cuts the sum to `mantissa_bits`.
struct AccumulationModel {
  bool exact = false;  // the dot product and the fold are computed in f64: only the output is rounded
  int fraction_bits = 0;
  int mantissa_bits = 0;
};

inline constexpr AccumulationModel exact_accumulation{.exact = true};

AccumulationModel accumulation_model(Arch arch) noexcept;

// Elements of depth that one matrix instruction of either arch consumes.
inline constexpr int accumulation_step = 32;

// Bound on |computed - exact| of one dot product. partial[i] is the exact dot product of step i;
// log2_product[i] an integer upper bound on the exponent of each of its products.
double dot_bound(const AccumulationModel& model, std::span<const double> partial,
                 std::span<const int> log2_product) noexcept;

// Bound on |computed - exact| of one score before it is rounded to the output type.
//   weighted_dots   sum over heads of |q_scale| * (relu(dot) + dot_bound)
//   weighted_bounds sum over heads of |q_scale| * dot_bound, heads surely cut off by relu left out
double score_bound(const AccumulationModel& model, int num_heads, double weighted_dots,
                   double weighted_bounds, double k_scale) noexcept;

}  // namespace mlaindex
