// Names of mbarriers, for reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlaindex {

// mbarriers of one purpose, one after the other in dynamic shared memory.
struct BarrierGroup {
  std::string name;          // "key_full"
  std::uint32_t offset = 0;  // of the first one, in bytes
  std::uint32_t count = 1;
  bool operator==(const BarrierGroup&) const = default;
};

// One barrier of a group.
struct GroupedBarrier {
  const BarrierGroup* group;
  std::uint32_t index;
};

// Nothing when no barrier of the groups lies at `offset`.
inline std::optional<GroupedBarrier> find_barrier(const std::vector<BarrierGroup>& groups, std::uint32_t offset) {
  constexpr std::uint32_t barrier_bytes = 8;
  for (const BarrierGroup& group : groups) {
    if (offset < group.offset || (offset - group.offset) % barrier_bytes != 0) continue;
    const std::uint32_t index = (offset - group.offset) / barrier_bytes;
    if (index < group.count) return GroupedBarrier{&group, index};
  }
  return std::nullopt;
}

// "key_full[2]", or the group's name alone when it has one barrier; empty when no barrier of the
// groups lies at `offset`.
inline std::string barrier_name(const std::vector<BarrierGroup>& groups, std::uint32_t offset) {
  const auto found = find_barrier(groups, offset);
  if (!found) return {};
  const auto& [group, index] = *found;
  return group->count == 1 ? group->name : group->name + '[' + std::to_string(index) + ']';
}

}  // namespace mlaindex
