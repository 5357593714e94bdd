// What a tensor copy should do, element by element: the independent reference of the facts about TMA.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/hardware/facts/experiment.h"

namespace mlaindex::hardware {

// One box between a tensor and shared memory. Shared memory starts at the kernel's 1024-byte boundary.
struct TileCopy {
  std::string label;
  TensorMapParams map{};
  std::array<std::int32_t, 3> start{};
  std::uint32_t shared_offset = 0;  // of the box
  std::uint32_t dump_bytes = 4096;  // of shared memory to look at
};

// How a box lies in shared memory.
struct BoxLayout {
  std::uint32_t row_pitch = 0;  // bytes from one row of dimension 0 to the next; 0: the swizzle span, or dense
  bool absolute = true;         // the swizzle's XOR looks at absolute addresses, else at offsets in the box
};

constexpr std::uint32_t untouched_word = 0xeeeeeeee;  // what kernels/tma_load.cu leaves where no copy wrote
inline constexpr std::size_t tma_header_bytes = 16;   // of its output, before the dump

std::uint32_t box_row_bytes(const TensorMapParams& map) noexcept;
std::uint32_t swizzle_span(TensorMapSwizzle mode) noexcept;  // 0 without swizzle

// Bytes that fit the map's tensor, no two aligned words the same.
Bytes tensor_of(const TensorMapParams& map);

// A launch of kernels/tma_load.cu. `surplus`: expect 16 bytes more than the full box, to be brought by a second copy,
// which proves the count.
Experiment load_experiment(const TileCopy& copy, std::uint32_t expected_bytes, bool surplus);

// Shared memory after the load of a box.
Bytes expected_load(const TileCopy& copy, const BoxLayout& layout, const Bytes& tensor);

// A launch of kernels/tma_store.cu, and the tensor's memory after it: pieces of 16 bytes that the edge of a row cuts
// are written in full.
Experiment store_experiment(const TileCopy& copy);
Bytes expected_store(const TileCopy& copy, const BoxLayout& layout);

// Where two buffers differ first, or "equal".
std::string first_difference(std::span<const std::byte> seen, std::span<const std::byte> expected);

}  // namespace mlaindex::hardware
