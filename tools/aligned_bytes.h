// An owning block of bytes, 64-byte aligned: enough for tensor maps and for vector loads.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace mlaindex::tools {

class AlignedBytes {
 public:
  static constexpr std::align_val_t alignment{64};

  AlignedBytes() = default;

  // Zeroed. An empty block has a null data pointer; so has one that memory did not suffice for,
  // which `size` tells apart.
  explicit AlignedBytes(std::size_t size)
      : bytes_(size == 0 ? nullptr : new (alignment, std::nothrow) std::byte[size]()),
        size_(bytes_ ? size : 0) {}

  std::byte* data() noexcept { return bytes_.get(); }
  const std::byte* data() const noexcept { return bytes_.get(); }
  std::size_t size() const noexcept { return size_; }

  // The bytes as elements of T; whole ones only.
  template <class T>
  std::span<T> as() noexcept {
    return {reinterpret_cast<T*>(bytes_.get()), size_ / sizeof(T)};
  }
  template <class T>
  std::span<const T> as() const noexcept {
    return {reinterpret_cast<const T*>(bytes_.get()), size_ / sizeof(T)};
  }

 private:
  struct Delete {
    void operator()(std::byte* bytes) const noexcept { ::operator delete[](bytes, alignment); }
  };
  std::unique_ptr<std::byte[], Delete> bytes_;
  std::size_t size_ = 0;
};

}  // namespace mlaindex::tools
