// libFuzzer target: any bytes give facts or an error.
#include <cstdint>
#include <string_view>

#include "generator/ptx/cubin_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(mlaindex::ptx::read_cubin_facts({reinterpret_cast<const char*>(data), size}));
  return 0;
}
