// Counts allocations through operator new in this program.
#pragma once

// clang's runtime for tsan has an operator new of its own, and nothing is counted.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MLAINDEX_ALLOCATIONS_NOT_COUNTED
#endif
#endif

#include <cstddef>

namespace mlaindex {

// Allocations so far, of all threads.
std::size_t allocations() noexcept;

}  // namespace mlaindex
