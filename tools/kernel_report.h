// A compiled kernel as people and programs read it: shared by compile, score and prewarm.
#pragma once

#include <string>
#include <vector>

#include "generator/ptx/pipeline.h"
#include "runtime/kernel_store.h"
#include "tools/output.h"

namespace mlaindex::tools {

// "generate 0.2 ms, compile 118.4 ms, passes 0.9 ms"
std::string steps_text(const KernelLookup& lookup);

// "compiled by NVRTC", "found in the cache", "in memory already", "cubin overridden by FILE"
std::string origin_text(const KernelLookup& lookup);

// {"name", "plan", "arch", "spec", "origin", "key", "registers", ..., "steps": {step: ms}}
Json kernel_json(const KernelLookup& lookup);

// {"compiled": how many NVRTC made, "hit_disk", "hit_memory", ...}: of all lookups so far.
Json counters_json(const KernelCounters& counters);

// The rows "spec", "kernel", "resources", "origin" and "steps".
void print_kernel(Output& output, const KernelLookup& lookup);

// What each pass did and found, one row a pass.
void print_passes(Output& output, const std::vector<ptx::PassReport>& reports);
// [{"name", "version", "settings", "notes": [{"subject", "text"}]}]
Json passes_json(const std::vector<ptx::PassReport>& reports);

// "0.031 ms": three significant digits, at least.
std::string milliseconds_text(double milliseconds);

}  // namespace mlaindex::tools
