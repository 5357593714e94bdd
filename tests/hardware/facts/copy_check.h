// One tensor copy held to its reference.
#pragma once

#include "tests/hardware/facts/fact.h"
#include "tests/hardware/facts/tile_copy.h"

namespace mlaindex::hardware {

// Contents of shared memory, and what the barrier counts: the full box.
void examine_load(Machine& machine, Findings& findings, const TileCopy& copy);

// Contents of the tensor.
void examine_store(Machine& machine, Findings& findings, const TileCopy& copy);

// That the machine does not do it.
void examine_refusal(Machine& machine, Findings& findings, const Experiment& experiment);

}  // namespace mlaindex::hardware
