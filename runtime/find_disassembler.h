// The disassembler that this machine has for the cycle model.
#pragma once

#include "generator/model/disassembler.h"
#include "runtime/config.h"

namespace mlaindex {

// MLAINDEX_JIT_NVDISASM, else nvdisasm of the toolkits that the environment names, of PATH, or of the usual
// place. Errors: no_nvrtc with what to install or set.
Result<model::Disassembler> find_disassembler(const Config& config);

}  // namespace mlaindex
