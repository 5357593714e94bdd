#include "generator/arch.h"

#include "generator/base/format.h"

namespace mlaindex {

std::string_view arch_name(Arch arch) noexcept {
  return arch == Arch::sm_90a ? "sm_90a" : "sm_100a";
}

Result<Arch> parse_arch(std::string_view name) {
  for (Arch arch : all_archs) {
    if (name == arch_name(arch)) return arch;
  }
  return Error{ErrorCode::unsupported_arch, fmt::format("unknown arch '{}'", name),
               "allowed: sm_90a (H100, H200), sm_100a (B200)"};
}

Result<Arch> arch_of_compute_capability(int major, int minor) {
  for (Arch arch : all_archs) {
    if (arch_limits(arch).sm_number == 10 * major + minor) return arch;
  }
  return Error{ErrorCode::unsupported_arch,
               fmt::format("no kernels for compute capability {}.{}", major, minor),
               "supported: 9.0 (H100, H200) and 10.0 (B200); --device cpu computes anywhere"};
}

const ArchLimits& arch_limits(Arch arch) noexcept {
  static constexpr ArchLimits sm_90a{
      .sm_number = 90, .shared_bytes_per_cta = 232448, .shared_bytes_per_sm = 233472,
      .reserved_shared_bytes = 1024, .registers_per_sm = 65536, .max_registers_per_thread = 255,
      .max_threads_per_cta = 1024, .tensor_memory_columns = 0,
      .min_nvrtc_major = 12, .min_nvrtc_minor = 0};
  static constexpr ArchLimits sm_100a{
      .sm_number = 100, .shared_bytes_per_cta = 232448, .shared_bytes_per_sm = 233472,
      .reserved_shared_bytes = 1024, .registers_per_sm = 65536, .max_registers_per_thread = 255,
      .max_threads_per_cta = 1024, .tensor_memory_columns = 512,
      .min_nvrtc_major = 12, .min_nvrtc_minor = 8};
  return arch == Arch::sm_90a ? sm_90a : sm_100a;
}

}  // namespace mlaindex
