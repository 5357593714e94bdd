#include "emulator/shared_memory.h"

#include <algorithm>
#include <bit>

namespace mlaindex::emulator {
namespace {

std::string lowest_warp(std::uint32_t mask) { return "warp " + std::to_string(std::countr_zero(mask)); }

// The bits of a word that [address, address + size) covers; size <= 4 and within one word.
std::uint8_t byte_bits(std::uint32_t address, std::uint32_t size) noexcept {
  return static_cast<std::uint8_t>(((1u << size) - 1) << (address % 4));
}

}  // namespace

SharedMemory::SharedMemory(std::uint32_t first, std::uint32_t end, std::uint32_t num_warps)
    : first_(first), end_(end), bytes_(end + 16), touched_(num_warps) {
  const std::size_t words = end / 4 + 4;
  initialised_.assign(words, 0);
  incoming_.assign(words, 0);
  outgoing_.assign(words, 0);
  readers_.assign(words, 0);
  writers_.assign(words, 0);
  read_time_.assign(words, 0);
  write_time_.assign(words, 0);
}

bool SharedMemory::initialised(std::uint32_t address, std::uint32_t size) const noexcept {
  for (std::uint32_t done = 0; done < size;) {
    const std::uint32_t at = address + done;
    const std::uint32_t step = std::min(size - done, 4 - at % 4);
    const std::uint8_t bits = byte_bits(at, step);
    if ((initialised_[at / 4] & bits) != bits) return false;
    done += step;
  }
  return true;
}

void SharedMemory::set_initialised(std::uint32_t address, std::uint32_t size) noexcept {
  for (std::uint32_t done = 0; done < size;) {
    const std::uint32_t at = address + done;
    const std::uint32_t step = std::min(size - done, 4 - at % 4);
    initialised_[at / 4] |= byte_bits(at, step);
    done += step;
  }
}

std::optional<Hazard> SharedMemory::generic_read(std::uint32_t address, std::uint32_t size, const Actor& who) {
  const Span span = words(address, size);
  const std::uint32_t bit = 1u << who.warp;
  std::optional<Hazard> hazard;
  for (std::size_t w = span.first; w < span.end; ++w) {
    if (incoming_[w] != 0)
      hazard = {FaultKind::result_before_wait, "shared " + hex(w * 4) + " read while " +
                                                   name_user(pending_writes_, w) + " is still writing it"};
    if (((readers_[w] | writers_[w]) & bit) == 0) touched_[who.warp].push_back(static_cast<std::uint32_t>(w));
    readers_[w] |= bit;
    read_time_[w] = who.now;
  }
  if (!hazard && !initialised(address, size))
    hazard = {FaultKind::uninitialised_read, "shared " + hex(address) + ", " + std::to_string(size) +
                                                 " bytes, never written"};
  return hazard;
}

std::optional<Hazard> SharedMemory::generic_write(std::uint32_t address, std::uint32_t size, const Actor& who) {
  const Span span = words(address, size);
  const std::uint32_t bit = 1u << who.warp;
  std::optional<Hazard> hazard;
  for (std::size_t w = span.first; w < span.end; ++w) {
    if (outgoing_[w] != 0)
      hazard = {FaultKind::slot_overwritten, "shared " + hex(w * 4) + " written while " +
                                                 name_user(pending_reads_, w) + " still reads it"};
    if (incoming_[w] != 0)
      hazard = {FaultKind::slot_overwritten, "shared " + hex(w * 4) + " written while " +
                                                 name_user(pending_writes_, w) + " is still writing it"};
    if (((readers_[w] | writers_[w]) & bit) == 0) touched_[who.warp].push_back(static_cast<std::uint32_t>(w));
    writers_[w] |= bit;
    write_time_[w] = who.now;
  }
  set_initialised(address, size);
  return hazard;
}

void SharedMemory::proxy_fence(std::uint32_t warp) noexcept {
  const std::uint32_t keep = ~(1u << warp);
  for (const std::uint32_t w : touched_[warp]) {
    readers_[w] &= keep;
    writers_[w] &= keep;
  }
  touched_[warp].clear();
}

std::optional<Hazard> SharedMemory::unfenced(const Span& span, const Actor& who, bool reads_too,
                                             const char* what) const {
  for (std::size_t w = span.first; w < span.end; ++w) {
    const bool written = writers_[w] != 0 && write_time_[w] > who.proxy_fence;
    const bool read = reads_too && readers_[w] != 0 && read_time_[w] > who.proxy_fence;
    if (written || read)
      return Hazard{FaultKind::proxy_hazard,
                    "shared " + hex(w * 4) + (written ? " was written by " : " was read by ") +
                        lowest_warp(written ? writers_[w] : readers_[w]) + " through the generic proxy and is now " +
                        what + " through the async proxy, with no fence.proxy.async in between"};
  }
  return std::nullopt;
}

std::optional<Hazard> SharedMemory::begin_async_read(std::uint32_t address, std::uint32_t size, const Actor& who) {
  const Span span = words(address, size);
  std::optional<Hazard> hazard = unfenced(span, who, false, "read");
  for (std::size_t w = span.first; w < span.end; ++w) {
    if (incoming_[w] != 0 && !hazard)
      hazard = {FaultKind::result_before_wait, "shared " + hex(w * 4) + " read while " +
                                                   name_user(pending_writes_, w) + " is still writing it"};
    ++outgoing_[w];
  }
  pending_reads_.push_back({address, address + size, who.line, who.warp});
  return hazard;
}

void SharedMemory::end_async_read(std::uint32_t address, std::uint32_t size) noexcept {
  const Span span = words(address, size);
  for (std::size_t w = span.first; w < span.end; ++w) --outgoing_[w];
  remove(pending_reads_, address, size);
}

std::optional<Hazard> SharedMemory::begin_async_write(std::uint32_t address, std::uint32_t size, const Actor& who) {
  const Span span = words(address, size);
  std::optional<Hazard> hazard = unfenced(span, who, true, "overwritten");
  for (std::size_t w = span.first; w < span.end; ++w) {
    if (outgoing_[w] != 0)
      hazard = {FaultKind::slot_overwritten, "shared " + hex(w * 4) + " refilled while " +
                                                 name_user(pending_reads_, w) + " still reads it"};
    if (incoming_[w] != 0)
      hazard = {FaultKind::slot_overwritten, "shared " + hex(w * 4) + " refilled while " +
                                                 name_user(pending_writes_, w) + " is still writing it"};
    ++incoming_[w];
    readers_[w] = writers_[w] = 0;  // one report is enough
  }
  pending_writes_.push_back({address, address + size, who.line, who.warp});
  return hazard;
}

void SharedMemory::end_async_write(std::uint32_t address, std::uint32_t size) noexcept {
  const Span span = words(address, size);
  for (std::size_t w = span.first; w < span.end; ++w) --incoming_[w];
  set_initialised(address, size);
  remove(pending_writes_, address, size);
}

void SharedMemory::remove(std::vector<User>& users, std::uint32_t address, std::uint32_t size) noexcept {
  const auto it = std::find_if(users.begin(), users.end(), [&](const User& u) {
    return u.first == address && u.end == address + size;
  });
  if (it != users.end()) users.erase(it);
}

std::string SharedMemory::name_user(const std::vector<User>& users, std::size_t word) {
  for (const User& u : users)
    if (u.first < (word + 1) * 4 && u.end > word * 4)
      return "the operation of warp " + std::to_string(u.warp) + " at line " + std::to_string(u.line);
  return "an operation";
}

}  // namespace mlaindex::emulator
