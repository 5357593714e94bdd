// Launches that overlap: a launch that allows it (programmatic stream serialization) may start on SMs which the launch
// before it has left or does not use, while that one still runs. Without that, both do nothing.
#pragma once

// Before it touches global memory a thread waits until all launches before this one are complete, and what they wrote is
// visible. Some threads of every CTA do, so that this launch cannot be complete before those are: the next one, which waits
// for this one only, relies on it.
__device__ __forceinline__ void wait_for_earlier_launches() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// The next launch may start as soon as every CTA has come here. It finds no tensor memory where a CTA of this launch still
// has to allocate some: call this behind that.
__device__ __forceinline__ void let_next_launch_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
