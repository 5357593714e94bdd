// A compiled kernel as people and programs read it: shared by compile, score and prewarm.
#pragma once

#include <string>

#include "runtime/kernel_store.h"
#include "tools/output.h"

namespace mlaindex::tools {

// "generate 0.2 ms, compile 118.4 ms, passes 0.9 ms"
std::string steps_text(const KernelLookup& lookup);

// "compiled by NVRTC", "found in the cache", "in memory already"
std::string origin_text(KernelOrigin origin);

// {"name", "plan", "arch", "spec", "origin", "key", "registers", ..., "steps": {step: ms}}
Json kernel_json(const KernelLookup& lookup);

// The rows "spec", "kernel", "resources", "origin" and "steps".
void print_kernel(Output& output, const KernelLookup& lookup);

// "0.031 ms": three significant digits, at least.
std::string milliseconds_text(double milliseconds);

}  // namespace mlaindex::tools
