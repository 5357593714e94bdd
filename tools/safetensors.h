// The safetensors format: 8 bytes of header length, little-endian; a JSON header naming each
// tensor's dtype, shape and byte range; the data. Only the parts of the format that a case file
// needs, but all of its rules are checked: a file that this reader accepts has every tensor inside
// the file, of the size its shape says, without overlaps or holes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/result.h"
#include "tools/aligned_bytes.h"

namespace mlaindex::tools {

// Bytes of one element of a safetensors dtype ("F8_E4M3": 1); 0 for an unknown one.
std::size_t dtype_size(std::string_view dtype) noexcept;

struct Tensor {
  std::string dtype;                 // as the format spells it
  std::vector<std::uint64_t> shape;  // empty: a scalar
  AlignedBytes data;
};

// "F32 [4, 128]"
std::string describe(const Tensor& tensor);

struct Safetensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

// The whole file, in memory. invalid_file names the file, the tensor and what was expected.
Result<Safetensors> read_safetensors(const std::filesystem::path& path);

// Replaces the file in one step: a reader sees the old one or the new one. Tensors are ordered by
// element size, then name, so that each starts aligned. A tensor whose data does not fit its dtype
// and shape is invalid_argument.
Status write_safetensors(const std::filesystem::path& path, const Safetensors& contents);

}  // namespace mlaindex::tools
