// The JSON header of a safetensors file, checked against the size of the data that follows it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/result.h"

namespace mlaindex::tools {

struct TensorRecord {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes, from the start of the data
};

struct SafetensorsHeader {
  std::vector<TensorRecord> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

// `text` is the header's JSON; the records tile [0, data_bytes) exactly. Errors are invalid_file
// and name the tensor, not the file.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view text, std::uint64_t data_bytes);

// The bytes of a tensor, or false when the product does not fit 64 bits or the dtype is unknown.
bool tensor_bytes(std::string_view dtype, const std::vector<std::uint64_t>& shape, std::uint64_t& bytes) noexcept;

// "[4, 128]"
std::string shape_text(const std::vector<std::uint64_t>& shape);

}  // namespace mlaindex::tools
