// The buffers a kernel may touch. Device addresses are the host addresses of the buffers, so every
// byte outside a registered buffer is out of bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mlaindex::emulator {

class GlobalMemory {
 public:
  struct Buffer {
    std::uint64_t first = 0, end = 0;  // [first, end)
    bool writable = true;
    std::string name;
  };

  // The buffer must outlive the runs that use it, and must not overlap another one.
  void add(std::span<std::byte> bytes, std::string name = {});
  void add_read_only(std::span<const std::byte> bytes, std::string name = {});
  void clear() noexcept { buffers_.clear(); }

  // The buffer that holds all of [address, address + size), or nullptr.
  const Buffer* find(std::uint64_t address, std::uint64_t size) const noexcept;
  // Where `address` lies, in words, for a message.
  std::string describe(std::uint64_t address) const;

 private:
  void insert(Buffer buffer);
  std::vector<Buffer> buffers_;  // by address
};

}  // namespace mlaindex::emulator
