// Generic-proxy accesses of one lane: finding the bytes behind an address, with every check.
#pragma once

#include <cstdint>

#include "emulator/execution.h"

namespace mlaindex::emulator {

enum class Space : std::uint8_t { generic, global, shared, shared_cluster, local, param };

// A place in host memory, or nothing when a fatal fault was reported.
struct Location {
  std::byte* data = nullptr;
  // Where shared memory must note the access.
  Cta* cta = nullptr;
  std::uint32_t shared_address = 0;
};

Location locate(Execution& x, Space space, std::uint64_t address, unsigned lane, std::uint32_t bytes, bool write);

// Reports a lane that touches global memory, which another launch may use, before it waited for earlier launches, in a
// kernel that waits for them.
void check_launch_order(Execution& x, unsigned lane);

// Notes a read or write of shared memory and reports its hazards.
void note_read(Execution& x, const Location& at, std::uint32_t bytes);
void note_write(Execution& x, const Location& at, std::uint32_t bytes);

// A 32-bit shared or 64-bit generic address as an offset into this CTA's shared memory. Reports a
// fatal fault and returns false when it is outside, in another CTA, or not aligned.
bool own_shared(Execution& x, std::uint64_t address, std::uint32_t bytes, std::uint32_t alignment, std::uint32_t& offset);

// A shared::cluster address: the CTA and the offset in it; nullptr after a fatal fault.
Cta* cluster_shared(Execution& x, std::uint64_t address, std::uint32_t bytes, std::uint32_t alignment,
                    std::uint32_t& offset);

// The barrier that asynchronous work will signal; reports it when it does not exist (fatal, false) or
// when its init was not fenced.
bool check_signalled(Execution& x, Cta& cta, std::uint32_t offset);

}  // namespace mlaindex::emulator
