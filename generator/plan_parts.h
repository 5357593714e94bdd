// What the makers of plans share.
#pragma once

#include <string>

#include "generator/plan.h"

namespace mlaindex {

inline constexpr int barrier_bytes = 8;
inline constexpr int swizzle_alignment = 1024;  // keeps the base offset of operand descriptors zero

// Appends a region at the next multiple of `alignment`.
void append(Plan& plan, std::string name, int bytes, int alignment, std::string contents);

// Of a block of contiguous keys that the scheduler of a persistent kernel hands on: work, ranges, weights.
int block_bytes(const Plan& plan, int num_weights) noexcept;

// The key ring: plan.key_stages stages of plan.tile_keys keys.
void append_keys(Plan& plan, const Spec& spec);

// Two stages of tensor memory of plan.mma_n columns, so that an MMA runs under the fold of the one before it.
void allocate_accumulators(Plan& plan);

// The scales of the key ring's stages: a copy for every page of a tile, each to a multiple of 128 bytes.
void append_k_scale(Plan& plan, const Spec& spec);

// For valid specs of contiguous keys: generator/plan_k_resident.cpp.
Plan sm90_k_resident(const Spec& spec);
Plan sm100_k_resident(const Spec& spec);

// For valid specs of paged keys: generator/plan_paged.cpp, generator/plan_paged_sm100.cpp.
Plan sm90_paged(const Spec& spec);
Plan sm90_paged_narrow(const Spec& spec);
Plan sm90_paged_deep(const Spec& spec);
Plan sm100_paged(const Spec& spec);

}  // namespace mlaindex
