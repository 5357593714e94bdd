// What a finished cubin says about itself, read from its ELF sections without a tool or a GPU.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/result.h"

namespace mlaindex::ptx {

// Facts of one entry point.
struct KernelFacts {
  std::string entry;                    // symbol name
  std::uint32_t registers = 0;          // per thread at launch
  std::uint32_t frame_bytes = 0;        // local memory frame per thread: spills and local arrays
  std::uint32_t min_stack_bytes = 0;    // frame plus that of callees, per thread
  std::uint32_t static_shared_bytes = 0;  // declared by the kernel, without the reserved first KiB
  std::uint32_t parameter_bytes = 0;
  std::array<std::uint32_t, 3> max_threads{};  // .maxntid or .reqntid; zeros when not given
  std::uint64_t code_bytes = 0;
};

struct CubinFacts {
  int sm_number = 0;      // 90, 100: the ELF header cannot tell 100, 100a and 100f apart
  std::string arch;       // "sm_100a", from the assembler's own note; empty when there is none
  std::string tool;       // the note's text: assembler, release, build, options
  std::vector<KernelFacts> kernels;  // in the order of the symbol table
};

// `cubin` is the image as produced by NVRTC or ptxas; any alignment.
// Errors: invalid_file for anything that is truncated, damaged or not a CUDA ELF of 64 bits.
Result<CubinFacts> read_cubin_facts(std::string_view cubin);

}  // namespace mlaindex::ptx
