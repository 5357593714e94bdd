#include "runtime/device_buffer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "generator/base/format.h"

namespace mlaindex {
namespace {

constexpr std::size_t guard_zone_bytes = 64 * 1024;  // more than a tile of any operand
constexpr std::byte guard_pattern{0xa5};

}  // namespace

Result<DeviceBuffer> DeviceBuffer::allocate(std::shared_ptr<const Context> context, std::string name,
                                            std::size_t bytes, bool guard_zones) {
  const Driver& driver = context->driver();
  const ContextScope scope(*context);
  if (Status status = scope.status(); !status) return status.error();
  DeviceBuffer buffer(context);
  buffer.name_ = std::move(name);
  buffer.bytes_ = bytes;
  buffer.guard_bytes_ = guard_zones ? guard_zone_bytes : 0;
  const std::size_t total = std::max<std::size_t>(bytes + 2 * buffer.guard_bytes_, 1);
  if (Status status = driver.check(driver->memory_allocate(&buffer.allocation_, total),
                                   fmt::format("allocating {} bytes for {}", total, buffer.name_));
      !status)
    return status.error();
  if (guard_zones) {
    const auto code = driver->fill_bytes(buffer.allocation_, static_cast<unsigned char>(guard_pattern), total);
    if (Status status = driver.check(code, "filling guard zones"); !status) return status.error();
  }
  return buffer;
}

DeviceBuffer::~DeviceBuffer() {
  if (allocation_ == 0) return;
  const ContextScope scope(*context_);
  context_->driver()->memory_free(allocation_);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : context_(std::move(other.context_)), name_(std::move(other.name_)),
      allocation_(std::exchange(other.allocation_, 0)), bytes_(other.bytes_), guard_bytes_(other.guard_bytes_) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(name_, other.name_);
  std::swap(allocation_, other.allocation_);
  std::swap(bytes_, other.bytes_);
  std::swap(guard_bytes_, other.guard_bytes_);
  return *this;
}

Status DeviceBuffer::upload(std::span<const std::byte> from) {
  if (from.empty()) return {};
  const ContextScope scope(*context_);
  if (Status status = scope.status(); !status) return status;
  const Driver& driver = context_->driver();
  return driver.check(driver->copy_to_device(pointer(), from.data(), from.size()), "copying " + name_ + " to the GPU");
}

Status DeviceBuffer::download(std::span<std::byte> to) const {
  if (to.empty()) return {};
  const ContextScope scope(*context_);
  if (Status status = scope.status(); !status) return status;
  const Driver& driver = context_->driver();
  return driver.check(driver->copy_to_host(to.data(), pointer(), to.size()), "copying " + name_ + " from the GPU");
}

Status DeviceBuffer::enqueue_fill(std::uint32_t word, cuda::Stream stream) {
  const ContextScope scope(*context_);
  if (Status status = scope.status(); !status) return status;
  const Driver& driver = context_->driver();
  return driver.check(driver->fill_words(pointer(), word, bytes_ / 4, stream), "filling " + name_);
}

Status DeviceBuffer::enqueue_copy(const DeviceBuffer& from, cuda::Stream stream) {
  const ContextScope scope(*context_);
  if (Status status = scope.status(); !status) return status;
  const Driver& driver = context_->driver();
  return driver.check(driver->copy_on_device(pointer(), from.pointer(), bytes_, stream),
                      "copying " + from.name_ + " to " + name_ + " on the GPU");
}

Status DeviceBuffer::check_guard_zones() const {
  if (guard_bytes_ == 0) return {};
  if (Status status = check_zone(allocation_, "before"); !status) return status;
  return check_zone(pointer() + bytes_, "after");
}

Status DeviceBuffer::check_zone(cuda::DevicePointer zone, const char* where) const {
  const ContextScope scope(*context_);
  if (Status status = scope.status(); !status) return status;
  const Driver& driver = context_->driver();
  std::vector<std::byte> bytes(guard_bytes_);
  if (Status status = driver.check(driver->copy_to_host(bytes.data(), zone, bytes.size()), "reading guard zones");
      !status)
    return status;
  const auto damaged = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b != guard_pattern; });
  if (damaged == bytes.end()) return {};
  return Error{ErrorCode::internal,
               fmt::format("the kernel wrote {} the {} bytes of {}, at byte {} of the guard zone", where, bytes_, name_,
                           damaged - bytes.begin()),
               {}};
}

}  // namespace mlaindex
