// What the GPU at hand can do at most, measured in the same run as the kernels.
#pragma once

#include <memory>

#include "generator/arch.h"
#include "runtime/compile.h"
#include "runtime/kernel_store.h"
#include "tools/bench/gpu_stopwatch.h"

namespace mlaindex::tools {

struct Roofs {
  double read = 0;    // bytes a second, by a kernel that reads and does nothing else
  double copy = 0;    // bytes a second read and written, together, by the driver's copy
  double tensor = 0;  // operations a second of e4m3, dense: the data sheet's, not measured
  Spread event_gap;   // microseconds between two events with nothing in between
};

// The kernel that reads, compiled; exposed for tests. Errors are those of the compiler.
Result<CompiledKernel> compile_read_kernel(Compiler& compiler, Arch arch);

// Takes two buffers of `bytes` on the GPU, a multiple of 16, which must exceed L2 many times over. Errors: those of
// the compiler and the driver; internal when the kernel that reads did not read everything.
Result<Roofs> measure_roofs(const std::shared_ptr<const Context>& context, GpuStopwatch& stopwatch, Compiler& compiler,
                            Arch arch, std::size_t bytes, int samples);

// Of a GPU with that much memory: 2 GiB, or an eighth.
std::size_t roof_buffer_bytes(std::size_t memory_bytes) noexcept;

}  // namespace mlaindex::tools
