// A kernel and the PTX passes.
#pragma once

#include <vector>

#include "generator/base/result.h"
#include "generator/ptx/pipeline.h"
#include "runtime/kernel_store.h"

namespace mlaindex {

// What the plan allows the compiled kernel to be, and the names that reports use.
ptx::PassContext pass_context(const CompiledKernel& kernel);

// Runs the passes over the kernel's PTX and cubin, and puts into the kernel what they made of them:
// PTX, cubin and facts. With `describe`, the notes say what was found as well, in some milliseconds.
// Errors: those of the passes; the kernel is then as it was.
Result<std::vector<ptx::PassReport>> run_passes(const ptx::Pipeline& pipeline, CompiledKernel& kernel,
                                                bool describe = false);

}  // namespace mlaindex
