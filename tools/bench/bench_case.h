// The data of one benchmark shape, and the work that it stands for.
#pragma once

#include <cstdint>

#include "generator/base/result.h"
#include "generator/spec.h"
#include "tools/bench/shape.h"
#include "tools/case_file.h"

namespace mlaindex::tools {

// What the kernels of a benchmark have in common.
struct BenchModel {
  int num_heads = 64;
  int depth = 128;
  int page_size = 64;  // of decode
  ScoreType score_type = ScoreType::f32;
  Fill fill = Fill::none;
  FoldType fold = FoldType::f32;
};

// Prefill: causal, the tokens being the last of the keys; all keys where there are more tokens than keys, as of keys that
// stand for several tokens each.
Mask bench_mask(const BenchShape& shape) noexcept;
Spec bench_spec(const BenchShape& shape, const BenchModel& model, Arch arch) noexcept;

// The same data for the same seed. Elements are normal, so that the GPU draws the power of real work;
// to fill gigabytes in a second, long runs of them repeat. Contexts of several requests are uniform from
// 0.7 to 1.3 of the shape's; their pages, fused and without gaps, are in random order.
// Errors: out_of_memory, and those of validate(ScoreProblem).
Result<Case> make_bench_case(const BenchShape& shape, const BenchModel& model, std::uint64_t seed);

// A small case for the reference: requests of different length with the tokens a request of `shape`.
Result<Case> make_check_case(const BenchShape& shape, const BenchModel& model, std::uint64_t seed);

struct BenchWork {
  double scores = 0;      // visible
  double operations = 0;  // a multiplication and an addition for each element of each visible score
  double bytes = 0;       // every operand read once, every score written once
};

BenchWork work_of(const ScoreProblem& problem) noexcept;

}  // namespace mlaindex::tools
