// What of a long test runs where every memory access is watched.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MLAINDEX_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define MLAINDEX_TSAN 1
#endif

namespace mlaindex {

// The thread sanitizer makes a run on the emulator some 15 times longer, and looks for nothing that one kernel
// shows and another does not: one item in 7 is left. 7 divides none of the extents of the products that tests walk
// through, so that every value of each still occurs.
#ifdef MLAINDEX_TSAN
inline constexpr std::size_t sample_stride = 7;
#else
inline constexpr std::size_t sample_stride = 1;
#endif

// Keeps the first item of every sample_stride.
template <class Item>
void keep_sample(std::vector<Item>& items) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < items.size(); i += sample_stride) {
    if (kept != i) items[kept] = std::move(items[i]);
    ++kept;
  }
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(kept), items.end());
}

}  // namespace mlaindex
