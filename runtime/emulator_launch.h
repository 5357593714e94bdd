// One launch of a kernel on the emulator.
#pragma once

#include "emulator/machine.h"
#include "generator/ptx/module.h"
#include "runtime/emulator_device.h"
#include "runtime/kernel_store.h"
#include "runtime/score_problem.h"

namespace mlaindex {

// Executes `module`, which is the kernel's PTX parsed, or a changed copy of it, on a validated
// problem with tokens, keys and columns. Faults of the kernel are in the report; errors are those of
// the tensor maps and of emulator::run.
Result<emulator::RunReport> launch_on_emulator(const CompiledKernel& kernel, const ptx::Module& module,
                                               const ScoreProblem& problem, ScoreBuffer scores,
                                               const EmulatorSettings& settings);

}  // namespace mlaindex
