// tcgen05 (sm_100a): what its parts share.
#pragma once

#include <vector>

#include "emulator/decoder.h"
#include "emulator/execution.h"
#include "emulator/memory_access.h"

namespace mlaindex::emulator {

inline Actor tensor_actor(const Execution& x) {
  Actor who = x.actor();
  who.warp = x.cta().rank * kTensorActorStride + x.warp.index;
  return who;
}

// The CTAs that an instruction of this cta_group works on, the even one first; empty after a fault.
std::vector<Cta*> group_ctas(Execution& x, unsigned cta_group);

// All 32 lanes are here and none has exited; else `result` is what the handler must return.
bool whole_warp(Execution& x, Step& result);

// True if exactly one lane executes; mma, cp and commit are issued by one thread.
bool single_lane(Execution& x);

// Forms of the family, each in its own file.
void decode_tcgen05_mma(InstructionDecoder&);
void decode_tcgen05_copy(InstructionDecoder&);
void decode_tcgen05_load(InstructionDecoder&);
void decode_tcgen05_store(InstructionDecoder&);

// cta_group::1 or 2; fails without one.
unsigned take_cta_group(InstructionDecoder&);

}  // namespace mlaindex::emulator
