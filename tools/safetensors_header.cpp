#include "tools/safetensors_header.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "generator/base/format.h"
#include "tools/safetensors.h"

namespace mlaindex::tools {
namespace {

using Json = nlohmann::json;

constexpr int max_nesting = 3;  // header, tensor, shape

Error broken(std::string message, std::string hint = "the file is not a whole safetensors file; write it again") {
  return Error{ErrorCode::invalid_file, std::move(message), std::move(hint)};
}

// A JSON value without repeated keys: the parser alone would keep the last of them.
Result<Json> parse_strict(std::string_view text) {
  std::vector<std::set<std::string>> keys;
  std::string repeated;
  bool too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    const std::size_t level = static_cast<std::size_t>(depth);
    too_deep = too_deep || depth > max_nesting;
    if (event == Json::parse_event_t::object_start) {
      if (keys.size() <= level) keys.resize(level + 1);
      keys[level].clear();
    }
    if (event == Json::parse_event_t::key && level >= 1 && level <= keys.size()) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys[level - 1].insert(key).second && repeated.empty()) repeated = key;
    }
    return !too_deep;
  };
  Json json = Json::parse(text, watch, /*allow_exceptions=*/false);
  if (too_deep) return broken(fmt::format("the header nests deeper than {} levels", max_nesting));
  if (json.is_discarded()) return broken("the header is not valid JSON");
  if (!json.is_object()) return broken("the header is not a JSON object");
  if (!repeated.empty()) return broken(fmt::format("the header has the key '{}' twice", repeated));
  return json;
}

bool read_unsigned_list(const Json& json, std::vector<std::uint64_t>& list) {
  if (!json.is_array()) return false;
  for (const Json& item : json) {
    if (!item.is_number_unsigned()) return false;
    list.push_back(item.get<std::uint64_t>());
  }
  return true;
}

Result<TensorRecord> read_record(const std::string& name, const Json& json) {
  TensorRecord record{.name = name, .dtype = {}, .shape = {}};
  if (!json.is_object()) return broken(fmt::format("tensor '{}' is not described by a JSON object", name));
  if (!json.contains("dtype") || !json["dtype"].is_string()) {
    return broken(fmt::format("tensor '{}' has no dtype", name));
  }
  record.dtype = json["dtype"].get<std::string>();
  if (!json.contains("shape") || !read_unsigned_list(json["shape"], record.shape)) {
    return broken(fmt::format("tensor '{}': its shape is not a list of non-negative integers", name));
  }
  std::vector<std::uint64_t> offsets;
  if (!json.contains("data_offsets") || !read_unsigned_list(json["data_offsets"], offsets) ||
      offsets.size() != 2) {
    return broken(fmt::format("tensor '{}': its data_offsets are not two non-negative integers", name));
  }
  record.begin = offsets[0];
  record.end = offsets[1];
  if (dtype_size(record.dtype) == 0) {
    return broken(fmt::format("tensor '{}' has the unknown dtype '{}'", name, record.dtype),
                  "known: BOOL, U8, I8, F8_E4M3, F8_E5M2, U16, I16, F16, BF16, U32, I32, F32, U64, I64, F64");
  }
  return record;
}

Status check_size(const TensorRecord& record, std::uint64_t data_bytes) {
  if (record.begin > record.end || record.end > data_bytes) {
    return broken(fmt::format("tensor '{}' lies at bytes {} to {} of the data, which has {} bytes", record.name,
                              record.begin, record.end, data_bytes),
                  "the file is truncated or damaged; write it again");
  }
  std::uint64_t bytes = 0;
  if (!tensor_bytes(record.dtype, record.shape, bytes)) {
    return broken(fmt::format("tensor '{}': the shape {} has more bytes than 64 bits count", record.name,
                              shape_text(record.shape)));
  }
  if (bytes != record.end - record.begin) {
    return broken(fmt::format("tensor '{}': {} {} takes {} bytes, but its data_offsets span {}", record.name,
                              record.dtype, shape_text(record.shape), bytes, record.end - record.begin));
  }
  return {};
}

Status check_tiling(std::vector<TensorRecord>& records, std::uint64_t data_bytes) {
  std::sort(records.begin(), records.end(), [](const TensorRecord& a, const TensorRecord& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t expected = 0;
  for (const TensorRecord& record : records) {
    if (record.begin != expected) {
      return broken(
          fmt::format("tensor '{}' starts at byte {} of the data; expected {}, where the tensor before it ends",
                      record.name, record.begin, expected));
    }
    expected = record.end;
  }
  if (expected != data_bytes) {
    return broken(fmt::format("the tensors end at byte {} of the data, which has {} bytes", expected, data_bytes));
  }
  return {};
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view text, std::uint64_t data_bytes) {
  Result<Json> json = parse_strict(text);
  if (!json) return std::move(json).error();
  SafetensorsHeader header;
  for (const auto& [name, value] : json->items()) {
    if (name == "__metadata__") {
      if (!value.is_object()) return broken("__metadata__ is not a JSON object");
      for (const auto& [key, text_value] : value.items()) {
        if (!text_value.is_string()) return broken(fmt::format("__metadata__ '{}' is not a string", key));
        header.metadata[key] = text_value.get<std::string>();
      }
      continue;
    }
    Result<TensorRecord> record = read_record(name, value);
    if (!record) return std::move(record).error();
    if (Status size = check_size(*record, data_bytes); !size) return size.error();
    header.tensors.push_back(*std::move(record));
  }
  if (Status tiling = check_tiling(header.tensors, data_bytes); !tiling) return tiling.error();
  return header;
}

bool tensor_bytes(std::string_view dtype, const std::vector<std::uint64_t>& shape, std::uint64_t& bytes) noexcept {
  bytes = dtype_size(dtype);
  if (bytes == 0) return false;
  for (std::uint64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return false;
  }
  return true;
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace mlaindex::tools
