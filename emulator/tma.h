// The tensor-copy engine: boxes of a tensor map to shared memory and back.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/global_memory.h"
#include "emulator/shared_memory.h"
#include "emulator/swizzle.h"
#include "generator/base/result.h"
#include "generator/base/tensor_map_params.h"

namespace mlaindex::emulator {

using Coordinates = std::array<std::int32_t, 5>;  // innermost first, in elements

// Refuses maps the engine does not model (interleave, padded sub-byte types, rarer swizzles, element
// strides) and shared addresses that are not aligned.
Status check_copy(const TensorMapParams& map, std::uint32_t shared_address);

// Refuses starts at which an H200 faults: not at a multiple of 16 bytes within a row, and negative ones of
// a store. Before the copies below.
Status check_start(const TensorMapParams& map, const Coordinates& start, bool store);

// Bytes from one row of a box to the next in shared memory: rows shorter than the swizzle span lie one
// span apart.
std::uint32_t row_pitch(const TensorMapParams& map) noexcept;

// Bytes of shared memory that `num_boxes` boxes take, gaps behind short rows included.
std::uint32_t shared_bytes(const TensorMapParams& map, std::uint32_t num_boxes) noexcept;

struct SharedRange {
  std::uint32_t address, bytes;
};

// What a copy of `num_boxes` boxes touches, without those gaps.
std::vector<SharedRange> shared_ranges(const TensorMapParams& map, std::uint32_t num_boxes, std::uint32_t shared_address);

// Writes the full box; elements outside the tensor become the fill value. out_of_bounds is an error
// whose message names the address: the map reaches outside the registered buffers.
Status copy_to_shared(const TensorMapParams& map, const Coordinates& start, const GlobalMemory& global,
                      SharedMemory& shared, std::uint32_t shared_address);

// gather4: four rows of a 2-D map; `rows` holds {column, row0, row1, row2, row3}.
Status gather_to_shared(const TensorMapParams& map, const Coordinates& rows, const GlobalMemory& global,
                        SharedMemory& shared, std::uint32_t shared_address);

// Writes the elements inside the tensor, as values or added to it (f32, s32, u32). Values are written in
// pieces of 16 bytes: those that the tensor's edge cuts are written in full, as on an H200.
Status copy_to_global(const TensorMapParams& map, const Coordinates& start, const GlobalMemory& global,
                      SharedMemory& shared, std::uint32_t shared_address, bool add);

}  // namespace mlaindex::emulator
