// Counts allocations through operator new in this program.
#pragma once

#include <cstddef>

namespace mlaindex {

// Allocations so far, of all threads.
std::size_t allocations() noexcept;

}  // namespace mlaindex
