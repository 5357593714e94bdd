// What an entry is made of, for people: the facts that the verify pass looks at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/ptx/module.h"
#include "generator/ptx/pass.h"

namespace mlaindex::ptx {

// Notes of the verify pass. Subjects: census (one a role of the context), registers, mbarrier,
// transaction, descriptor, tensor memory, proxy fence. Lines are those of the PTX.
std::vector<Note> describe(const Module& module, const Function& entry, const PassContext& context,
                           int launch_registers);

}  // namespace mlaindex::ptx
