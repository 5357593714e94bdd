// One CTA's shared memory at its absolute addresses, with what is needed to find hazards: which bytes
// were written, which words asynchronous operations use, and which generic accesses no proxy fence
// has ordered yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/fault.h"

namespace mlaindex::emulator {

// A hazard found by a memory; the caller adds the place in the program.
struct Hazard {
  FaultKind kind = FaultKind::proxy_hazard;
  std::string message;
};

// Who touches memory, and when in the order of the run.
struct Actor {
  std::uint32_t warp = 0;
  std::uint32_t line = 0;
  std::uint64_t now = 0;
  std::uint64_t proxy_fence = 0;  // when this warp last executed fence.proxy.async
};

class SharedMemory {
 public:
  // Bytes [first, end) exist; `first` is what the toolchain reserves below a kernel's own data.
  SharedMemory(std::uint32_t first, std::uint32_t end, std::uint32_t num_warps);

  bool contains(std::uint32_t address, std::uint64_t size) const noexcept {
    return address >= first_ && std::uint64_t{address} + size <= end_;
  }
  std::uint32_t first() const noexcept { return first_; }
  std::uint32_t end() const noexcept { return end_; }
  std::byte* at(std::uint32_t address) noexcept { return bytes_.data() + address; }
  bool initialised(std::uint32_t address, std::uint32_t size) const noexcept;
  void set_initialised(std::uint32_t address, std::uint32_t size) noexcept;

  // Generic accesses of `size` bytes, naturally aligned and in bounds.
  std::optional<Hazard> generic_read(std::uint32_t address, std::uint32_t size, const Actor& who);
  std::optional<Hazard> generic_write(std::uint32_t address, std::uint32_t size, const Actor& who);
  // fence.proxy.async by `warp`: its generic accesses so far are ordered before asynchronous ones.
  void proxy_fence(std::uint32_t warp) noexcept;

  // Asynchronous accesses of [address, address + size), in bounds, from issue to completion.
  std::optional<Hazard> begin_async_read(std::uint32_t address, std::uint32_t size, const Actor& who);
  void end_async_read(std::uint32_t address, std::uint32_t size) noexcept;
  std::optional<Hazard> begin_async_write(std::uint32_t address, std::uint32_t size, const Actor& who);
  void end_async_write(std::uint32_t address, std::uint32_t size) noexcept;

 private:
  struct Span { std::size_t first, end; };  // words
  static Span words(std::uint32_t address, std::uint64_t size) noexcept {
    return {address / 4, static_cast<std::size_t>((std::uint64_t{address} + size + 3) / 4)};
  }
  struct User { std::uint32_t first, end, line, warp; };  // a pending asynchronous access
  static void remove(std::vector<User>& users, std::uint32_t address, std::uint32_t size) noexcept;
  static std::string name_user(const std::vector<User>& users, std::size_t word);
  std::optional<Hazard> unfenced(const Span& span, const Actor& who, bool reads_too, const char* what) const;

  std::uint32_t first_, end_;
  std::vector<std::byte> bytes_;            // indexed by absolute address
  std::vector<std::uint8_t> initialised_;   // per word, one bit a byte
  std::vector<std::uint8_t> incoming_;      // per word: asynchronous writes in flight
  std::vector<std::uint16_t> outgoing_;     // per word: asynchronous reads pending
  std::vector<std::uint32_t> readers_;      // per word: warps whose generic reads no fence covers
  std::vector<std::uint32_t> writers_;      // per word: likewise for writes
  std::vector<std::uint64_t> read_time_, write_time_;
  std::vector<std::vector<std::uint32_t>> touched_;  // per warp: words with its bit set
  std::vector<User> pending_reads_, pending_writes_;
};

}  // namespace mlaindex::emulator
