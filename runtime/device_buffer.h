// Memory of a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/context.h"

namespace mlaindex {

// Owns an allocation, 256-byte aligned, and frees it when gone. With guard zones, the bytes right
// before and right after it hold a pattern, which shows writes outside.
class DeviceBuffer {
 public:
  static Result<DeviceBuffer> allocate(std::shared_ptr<const Context> context, std::string name, std::size_t bytes,
                                       bool guard_zones);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;

  cuda::DevicePointer pointer() const noexcept { return allocation_ + guard_bytes_; }
  std::size_t bytes() const noexcept { return bytes_; }

  Status upload(std::span<const std::byte> from);       // from.size() == bytes()
  Status download(std::span<std::byte> to) const;       // to.size() == bytes()

  // Onto the stream (null: the default stream). The fill is of 32-bit words, bytes() a multiple of 4; the
  // copy is of all bytes of `from`, which has as many.
  Status enqueue_fill(std::uint32_t word, cuda::Stream stream);
  Status enqueue_copy(const DeviceBuffer& from, cuda::Stream stream);

  // ok, or internal when a byte of a guard zone changed, saying which and where.
  Status check_guard_zones() const;

 private:
  explicit DeviceBuffer(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  Status check_zone(cuda::DevicePointer zone, const char* where) const;

  std::shared_ptr<const Context> context_;
  std::string name_;
  cuda::DevicePointer allocation_ = 0;
  std::size_t bytes_ = 0;
  std::size_t guard_bytes_ = 0;
};

}  // namespace mlaindex
