#include "emulator/matrix_descriptor.h"

#include <cinttypes>
#include <cstdio>
#include <string>

namespace mlaindex::emulator {
namespace {

Error refused(std::uint64_t bits, const char* what, const char* hint) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%016" PRIX64, bits);
  return {ErrorCode::invalid_argument, std::string("matrix descriptor ") + text + ": " + what, hint};
}

constexpr std::uint64_t field(std::uint64_t bits, unsigned first, unsigned last) noexcept {
  return (bits >> first) & ((std::uint64_t{1} << (last - first + 1)) - 1);
}

MatrixDescriptor offsets(std::uint64_t bits) noexcept {
  MatrixDescriptor d;
  d.start = static_cast<std::uint32_t>(field(bits, 0, 13) << 4);
  d.leading_byte_offset = static_cast<std::uint32_t>(field(bits, 16, 29) << 4);
  d.stride_byte_offset = static_cast<std::uint32_t>(field(bits, 32, 45) << 4);
  return d;
}

}  // namespace

Result<MatrixDescriptor> decode_tcgen05_descriptor(std::uint64_t bits) {
  if (field(bits, 14, 15) || field(bits, 30, 31) || field(bits, 53, 60))
    return refused(bits, "reserved bits are set", "bits 14-15, 30-31 and 53-60 must be 0");
  if (field(bits, 46, 48) != 1)
    return refused(bits, "bits 46-48 are not 0b001",
                   "tcgen05 needs the constant 1 there; a wgmma descriptor has 0");
  if (field(bits, 49, 51) != 0)
    return refused(bits, "a base offset other than 0 is not modelled",
                   "align the pattern to 1024, 512 or 256 bytes");
  if (field(bits, 52, 52) != 0)
    return refused(bits, "absolute leading-dimension mode", "it exists on sm_103a only");
  MatrixDescriptor d = offsets(bits);
  switch (field(bits, 61, 63)) {
    case 0: d.swizzle = Swizzle::none; break;
    case 1: return refused(bits, "128-byte swizzle with 32-byte atoms has no K-major form", "use mode 2");
    case 2: d.swizzle = Swizzle::b128; break;
    case 4: d.swizzle = Swizzle::b64; break;
    case 6: d.swizzle = Swizzle::b32; break;
    default: return refused(bits, "unknown swizzle mode in bits 61-63", "allowed: 0, 1, 2, 4, 6");
  }
  return d;
}

Result<MatrixDescriptor> decode_wgmma_descriptor(std::uint64_t bits) {
  if (field(bits, 14, 15) || field(bits, 30, 31) || field(bits, 46, 48) || field(bits, 52, 61))
    return refused(bits, "reserved bits are set", "bits 14-15, 30-31, 46-48 and 52-61 must be 0");
  MatrixDescriptor d = offsets(bits);
  static constexpr Swizzle modes[] = {Swizzle::none, Swizzle::b128, Swizzle::b64, Swizzle::b32};
  d.swizzle = modes[field(bits, 62, 63)];
  d.base_offset = static_cast<std::uint32_t>(field(bits, 49, 51));
  if (d.base_offset != 0 && d.swizzle != Swizzle::b128)
    return refused(bits, "a base offset without the 128-byte swizzle", "it was measured with that only: set it to 0");
  return d;
}

}  // namespace mlaindex::emulator
