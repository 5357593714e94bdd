// How far a tensor core's scores may be from the exact ones, element by element.
//
// Model of one matrix instruction (Hopper's wgmma and Blackwell's tcgen05 on e4m3, 32 elements of
// depth), as published by MMA-Sim (arXiv 2511.10909): the 32 products, not normalised, and the
// accumulator are aligned to the largest exponent among them, 2^E, and each is cut toward zero to a
// multiple of 2^(E - fraction_bits); the sum of the cut terms is exact, and is cut toward zero to
// mantissa_bits. PTX promises none of this.
//
// One step turns an accumulator c into c + p + e with
//     |e| < 33 * 2^(E - fraction_bits)  +  |c + p + cuts| * 2^-mantissa_bits
// where p is the exact partial dot product of the step, and 2^E <= max(product_limit, |c|), with
// product_limit = max 2^exponent(q) * max 2^exponent(k) over the step's elements. Errors of earlier
// steps are carried on in c. Summed over the steps this bounds a dot product by some B.
//
// relu cannot enlarge an error, and hides all of it where dot <= -B. The fold adds num_heads products
// in f32 in an order of the kernel's choice, then multiplies by k_scale: at most num_heads + 2
// roundings on the way of any term (one more is counted for the reference's own), so
//     |score - exact| <= |k_scale| * (sum_h |w_h| * E_h  +  gamma * sum_h |w_h| * (relu(dot_h) + E_h))
// with w = q_scale, E_h = min(B_h, max(0, dot_h + B_h)), gamma = n u / (1 - n u), n = num_heads + 3,
// u = 2^-24; plus half a subnormal step for every rounding. Where the sum could leave f32's range
// there is no bound (infinity). Rounding to the output type comes on top.
//
// A bf16 fold rounds further on the way of a term, by v = 2^-8 at most each time: relu(dot), the weight, the
// product and every sum of its run, of which there are bf16_run at most, and the sum that joins two runs. These are
// m = bf16_run + 3 roundings before those in f32, so gamma becomes (1 + gamma) / (1 - m v) - 1. A bf16 has f32's range
// with coarser subnormals: there a weight is off by 2^-134 at most, times a dot product below 2^25, and a sum by
// 2^-134. With a weight that rounds to infinity there is no bound.
#pragma once

#include <algorithm>

#include "generator/spec.h"

namespace mlaindex {

// Elements of depth that one matrix instruction of either arch consumes.
inline constexpr int accumulation_step = 32;

struct AccumulationModel {
  bool exact = false;  // dot product and fold as the reference computes them: only the output is rounded
  double cut = 0;      // 2^-fraction_bits, below the largest exponent, of every term
  double sum_cut = 0;  // 2^-mantissa_bits, of every step's sum

  bool operator==(const AccumulationModel&) const = default;
};

inline constexpr AccumulationModel exact_accumulation{.exact = true};

AccumulationModel accumulation_model(Arch arch) noexcept;

// The bound on |computed - exact| of a dot product after one more step. `before` and `after` are the
// exact dot product's absolute values before and after the step, `error` the bound before it.
inline double step_bound(const AccumulationModel& model, double error, double before, double after,
                         double product_limit) noexcept {
  const double largest = std::max(product_limit, before + error);
  const double cuts = (accumulation_step + 1) * largest * model.cut;
  return error + cuts + (after + error + cuts) * model.sum_cut;
}

// What is left of a dot product's error bound after relu.
inline double relu_bound(double dot, double bound) noexcept {
  return std::clamp(dot + bound, 0.0, bound);
}

// Bound on |computed - exact| of one score before it is rounded to the output type.
//   weighted_bounds  sum over heads of |q_scale| * relu_bound
//   weighted_dots    sum over heads of |q_scale| * (relu(dot) + relu_bound); infinite where some |q_scale| is at
//                    least least_infinite_bf16 and the fold is bf16
double score_bound(int num_heads, FoldType fold, double weighted_bounds, double weighted_dots, double k_scale) noexcept;

// The least number that rounds to infinity as a bf16.
inline constexpr double least_infinite_bf16 = 0x1.ffp127;

}  // namespace mlaindex
