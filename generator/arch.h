// The two tensor-core generations this library generates code for, and their limits.
#pragma once

#include <array>
#include <string_view>

#include "generator/base/result.h"

namespace mlaindex {

enum class Arch { sm_90a, sm_100a };

inline constexpr std::array<Arch, 2> all_archs{Arch::sm_90a, Arch::sm_100a};

// "sm_90a", "sm_100a": the spelling of the CLI, of NVRTC's --gpu-architecture and of cache keys.
std::string_view arch_name(Arch arch) noexcept;

// Accepts the exact spelling only; anything else is unsupported_arch, naming what is allowed.
Result<Arch> parse_arch(std::string_view name);

// The arch that runs on a device of this compute capability, or unsupported_arch. An "a" target
// runs on exactly one capability, so this is an equality, not a minimum.
Result<Arch> arch_of_compute_capability(int major, int minor);

// What one SM and one CTA offer. Sources: CUDA C++ Programming Guide, table of technical
// specifications per compute capability; PTX ISA, section on tensor memory.
struct ArchLimits {
  int sm_number;                  // 90 or 100, as cubins and PTX targets count
  int shared_bytes_per_cta;       // opt-in maximum of dynamic shared memory
  int shared_bytes_per_sm;
  int reserved_shared_bytes;      // taken by the system from every CTA
  int registers_per_sm;           // 32-bit registers
  int max_registers_per_thread;
  int max_threads_per_cta;
  int tensor_memory_columns;      // 0: no tensor memory
  int min_nvrtc_major;            // oldest NVRTC that knows the arch
  int min_nvrtc_minor;
};

const ArchLimits& arch_limits(Arch arch) noexcept;

}  // namespace mlaindex
