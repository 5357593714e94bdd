#include "tools/safetensors.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "generator/base/format.h"
#include "tools/safetensors_header.h"

namespace mlaindex::tools {
namespace {

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t max_header_bytes = 100'000'000;  // as in the format's reference reader

constexpr std::array<std::pair<std::string_view, std::size_t>, 15> dtypes{{
    {"BOOL", 1}, {"U8", 1}, {"I8", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"U16", 2}, {"I16", 2}, {"F16", 2},
    {"BF16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4}, {"U64", 8}, {"I64", 8}, {"F64", 8}}};

Error broken(const std::filesystem::path& path, std::string_view message,
             std::string hint = "a safetensors file is expected; 'mlaindex make-case' writes one") {
  return Error{ErrorCode::invalid_file, fmt::format("{}: {}", path.string(), message), std::move(hint)};
}

Result<std::uint64_t> size_of_file(const std::filesystem::path& path) {
  std::error_code failure;
  const std::filesystem::file_status status = std::filesystem::status(path, failure);
  if (!std::filesystem::exists(status)) {
    return broken(path, failure && failure != std::errc::no_such_file_or_directory ? failure.message()
                                                                                   : "no such file",
                  "check the path; 'mlaindex make-case' writes an example");
  }
  if (!std::filesystem::is_regular_file(status)) return broken(path, "not a regular file");
  const std::uint64_t size = std::filesystem::file_size(path, failure);
  if (failure) return broken(path, failure.message());
  return size;
}

std::uint64_t little_endian(const std::array<char, length_bytes>& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = length_bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

std::size_t dtype_size(std::string_view dtype) noexcept {
  for (const auto& [name, size] : dtypes) {
    if (name == dtype) return size;
  }
  return 0;
}

std::string describe(const Tensor& tensor) { return tensor.dtype + " " + shape_text(tensor.shape); }

Result<Safetensors> read_safetensors(const std::filesystem::path& path) {
  const Result<std::uint64_t> file_bytes = size_of_file(path);
  if (!file_bytes) return file_bytes.error();
  std::ifstream file(path, std::ios::binary);
  if (!file) return broken(path, std::strerror(errno), "the file must be readable");

  std::array<char, length_bytes> length{};
  if (*file_bytes < length_bytes || !file.read(length.data(), length_bytes)) {
    return broken(path, fmt::format("{} bytes are too few for a safetensors file", *file_bytes));
  }
  const std::uint64_t header_bytes = little_endian(length);
  if (header_bytes > max_header_bytes) {
    return broken(path, fmt::format("a header of {} bytes is announced; at most {} are allowed", header_bytes,
                                    max_header_bytes));
  }
  if (header_bytes > *file_bytes - length_bytes) {
    return broken(path, fmt::format("truncated: a header of {} bytes is announced, {} bytes follow", header_bytes,
                                    *file_bytes - length_bytes));
  }
  std::string text(header_bytes, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size()))) return broken(path, "could not be read");

  Result<SafetensorsHeader> header = parse_safetensors_header(text, *file_bytes - length_bytes - header_bytes);
  if (!header) return broken(path, header.error().message, header.error().hint);

  Safetensors contents{.tensors = {}, .metadata = std::move(header->metadata)};
  for (TensorRecord& record : header->tensors) {  // in the order of the data: one pass over the file
    const std::uint64_t bytes = record.end - record.begin;
    Tensor tensor{std::move(record.dtype), std::move(record.shape), AlignedBytes(bytes)};
    if (tensor.data.size() != bytes) {
      return Error{ErrorCode::out_of_memory, fmt::format("{}: no memory for tensor '{}' of {} bytes", path.string(),
                                                         record.name, bytes), {}};
    }
    if (!file.read(reinterpret_cast<char*>(tensor.data.data()), static_cast<std::streamsize>(bytes))) {
      return broken(path, fmt::format("tensor '{}' could not be read", record.name));
    }
    contents.tensors.emplace(std::move(record.name), std::move(tensor));
  }
  return contents;
}

}  // namespace mlaindex::tools
