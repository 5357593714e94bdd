// A Module to PTX text.
#pragma once

#include <string>

#include "generator/ptx/module.h"

namespace mlaindex::ptx {

// Text that parses to an equal module. Comments and layout of a parsed text are not kept.
std::string print(const Module& module);

// One instruction as written in the text, without indentation or newline, for reports.
std::string print(const Instruction& instruction, const Function& function, const Module& module);

}  // namespace mlaindex::ptx
