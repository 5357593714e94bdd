// Example inputs: the tensors of one scoring problem, from a seed.
#pragma once

#include <cstdint>

#include "generator/base/result.h"
#include "generator/spec.h"
#include "tools/safetensors.h"

namespace mlaindex::tools {

// The defaults are one chunk of a GLM-5-like prefill: four requests, each with some history.
struct CaseRequest {
  std::int64_t num_tokens = 512;
  std::int64_t num_keys = 4096;
  std::int64_t num_requests = 4;  // of the ragged masks
  int num_heads = 32;
  int depth = 128;
  Mask mask = Mask::ragged_causal;
  int page_size = 0;             // 0: contiguous keys. Else num_keys is the longest context of a request
  int next_n = 1;                // tokens a request of the context masks: num_tokens is theirs, not given
  bool separate_scales = false;  // of paged keys: in a pool of their own
  std::uint64_t seed = 1;

  // Small integers, with k_scale a power of two: every sum is exact in f32 in any order, so that two
  // right answers are bitwise equal. Otherwise normal data, quantised as models do it: one scale
  // amax / 448 per key in k_scale, and per (token, head) in q_scale together with a head weight of
  // either sign, num_heads^-0.5 and depth^-0.5.
  bool exact = false;

  // Exact, and with a bf16 fold as well: every sum of weighted dot products, in any order, is an integer of at most
  // 256 times a power of two. A (token, head) of q has few elements that are not zero, and a weight of -1, 0 or 1 times
  // a power of two of its token.
  bool exact_bf16 = false;
};

// Deterministic: the same request gives the same bytes on every machine. Errors: unsupported_shape,
// invalid_argument, out_of_memory.
Result<Safetensors> make_case(const CaseRequest& request);

}  // namespace mlaindex::tools
