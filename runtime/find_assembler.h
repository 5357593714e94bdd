// The assembler that this machine has for PTX that was changed by hand or on request.
#pragma once

#include "generator/ptx/assembler.h"
#include "runtime/config.h"

namespace mlaindex {

// MLAINDEX_JIT_PTXAS, else ptxas of the toolkits that the environment names, of PATH, or of the usual
// place. Errors: no_nvrtc with what to install or set.
Result<ptx::Assembler> find_assembler(const Config& config);

}  // namespace mlaindex
