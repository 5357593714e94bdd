#include "emulator/global_memory.h"

#include <algorithm>

namespace mlaindex::emulator {
namespace {

std::uint64_t address_of(const std::byte* data) noexcept { return reinterpret_cast<std::uintptr_t>(data); }

}  // namespace

void GlobalMemory::add(std::span<std::byte> bytes, std::string name) {
  insert({address_of(bytes.data()), address_of(bytes.data()) + bytes.size(), true, std::move(name)});
}

void GlobalMemory::add_read_only(std::span<const std::byte> bytes, std::string name) {
  insert({address_of(bytes.data()), address_of(bytes.data()) + bytes.size(), false, std::move(name)});
}

void GlobalMemory::insert(Buffer buffer) {
  const auto at = std::upper_bound(buffers_.begin(), buffers_.end(), buffer.first,
                                   [](std::uint64_t first, const Buffer& b) { return first < b.first; });
  buffers_.insert(at, std::move(buffer));
}

const GlobalMemory::Buffer* GlobalMemory::find(std::uint64_t address, std::uint64_t size) const noexcept {
  auto it = std::upper_bound(buffers_.begin(), buffers_.end(), address,
                             [](std::uint64_t a, const Buffer& b) { return a < b.first; });
  if (it == buffers_.begin()) return nullptr;
  --it;
  return address < it->end && size <= it->end - address ? &*it : nullptr;
}

std::string GlobalMemory::describe(std::uint64_t address) const {
  const Buffer* nearest = nullptr;
  std::uint64_t distance = ~std::uint64_t{0};
  for (const Buffer& b : buffers_) {
    const std::uint64_t d = address < b.first ? b.first - address : address >= b.end ? address - b.end : 0;
    if (d < distance) { distance = d; nearest = &b; }
  }
  if (nearest == nullptr) return "no buffer is registered";
  const std::string name = nearest->name.empty() ? std::string("a buffer") : "buffer '" + nearest->name + "'";
  const std::string size = " of " + std::to_string(nearest->end - nearest->first) + " bytes";
  if (address < nearest->first) return std::to_string(distance) + " bytes before " + name + size;
  return std::to_string(address - nearest->first) + " bytes into " + name + size;
}

}  // namespace mlaindex::emulator
