// What the makers of example inputs share.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tools/make_case.h"
#include "tools/random.h"

namespace mlaindex::tools {

// Zeroed; throws std::bad_alloc, which make_case turns into its error.
Tensor& add(Safetensors& contents, const char* name, const char* dtype, std::vector<std::uint64_t> shape);

// The elements of one key; returns its k_scale.
float fill_key(std::span<std::uint8_t> codes, bool exact, Random& random);

// Pages with their tables and context_lens.
void add_pages(Safetensors& contents, const CaseRequest& request, Random& random);

std::int64_t pages_per_request(const CaseRequest& request) noexcept;

}  // namespace mlaindex::tools
