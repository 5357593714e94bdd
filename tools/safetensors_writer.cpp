#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "generator/base/format.h"
#include "tools/output_file.h"
#include "tools/safetensors.h"
#include "tools/safetensors_header.h"

namespace mlaindex::tools {
namespace {

constexpr std::size_t data_alignment = 64;  // of the data's start in the file

using NamedTensor = std::pair<const std::string, Tensor>;

std::vector<const NamedTensor*> in_file_order(const Safetensors& contents) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& entry : contents.tensors) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return dtype_size(a->second.dtype) > dtype_size(b->second.dtype);
  });
  return order;
}

// The length field and the header, padded with spaces as the format allows.
Result<std::string> file_head(const Safetensors& contents, const std::vector<const NamedTensor*>& order) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!contents.metadata.empty()) header["__metadata__"] = contents.metadata;
  std::uint64_t position = 0;
  for (const NamedTensor* entry : order) {
    const auto& [name, tensor] = *entry;
    std::uint64_t bytes = 0;
    if (!tensor_bytes(tensor.dtype, tensor.shape, bytes) || bytes != tensor.data.size()) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("tensor '{}': {} does not take the {} bytes given", name, describe(tensor),
                               tensor.data.size()), {}};
    }
    header[name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {position, position + bytes}}};
    position += bytes;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.append((data_alignment - (8 + text.size()) % data_alignment) % data_alignment, ' ');
  std::string head(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) head[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
  return head + text;
}

}  // namespace

Status write_safetensors(const std::filesystem::path& path, const Safetensors& contents) {
  const std::vector<const NamedTensor*> order = in_file_order(contents);
  const Result<std::string> head = file_head(contents, order);
  if (!head) return head.error();

  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return file.error();
  if (Status written = file->write(head->data(), head->size()); !written) return written;
  for (const NamedTensor* entry : order) {
    const AlignedBytes& data = entry->second.data;
    if (Status written = file->write(data.data(), data.size()); !written) return written;
  }
  return file->commit();
}

}  // namespace mlaindex::tools
