// The tensor maps of a scoring kernel: what the tensor memory accelerator copies, and how.
#pragma once

#include <cstdint>

#include "generator/base/tensor_map_params.h"
#include "generator/plan.h"
#include "generator/spec.h"
#include "runtime/driver.h"

namespace mlaindex {

// Boxes of 128 / padded_heads tokens by padded_heads heads, heads past num_heads filled with zeros.
// `q`: e4m3 [num_tokens, num_heads, depth], 16-byte aligned.
TensorMapParams q_map_params(const Spec& spec, const Plan& plan, std::uint64_t q, std::int64_t num_tokens) noexcept;

// Boxes of plan.tile_keys keys. `k`: e4m3 [num_keys, depth], 16-byte aligned.
TensorMapParams k_map_params(const Spec& spec, const Plan& plan, std::uint64_t k, std::int64_t num_keys) noexcept;

// Boxes of keys of one page, up to plan.tile_keys: coordinates 0, row, page. `pages`: 16-byte aligned,
// page p at p * stride bytes.
TensorMapParams page_map_params(const Spec& spec, const Plan& plan, std::uint64_t pages, std::int64_t num_pages,
                                std::int64_t stride) noexcept;

// The same of their scales: coordinates row, page. `scales`: of page 0.
TensorMapParams k_scale_page_map_params(const Spec& spec, const Plan& plan, std::uint64_t scales, std::int64_t num_pages,
                                        std::int64_t stride) noexcept;

// Writes the driver's form to `map`. Errors: those of validate(params), cuda_error.
Status encode(const Driver& driver, const TensorMapParams& params, cuda::TensorMap& map);

}  // namespace mlaindex
