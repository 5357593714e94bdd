// Scores by executing the PTX of the kernel itself on a host machine: what runs where there is no
// GPU of the arch, and what shows that a kernel is right without one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/device.h"

namespace mlaindex {

struct EmulatorSettings {
  // Same seed, same run: the moments at which asynchronous work completes, and the order of warps.
  // 0 completes everything at once, 1 as late as is legal, others mix.
  std::uint64_t seed = 0;

  // Sums rounded once instead of the bit-level model of the arch's tensor core.
  bool exact_arithmetic = false;

  // SMs of the pretended GPU, which decide over how many CTAs keys are split; 0: those of the board
  // that the arch ships on.
  int num_sms = 0;

  unsigned threads = 0;         // host threads of a run; 0: as many as the machine has
  std::uint64_t max_steps = 0;  // warp instructions of a CTA before a run counts as endless; 0: 4e9

  // Where shared memory begins, a multiple of 16; 0: at 0x400, as on the hardware. Another start shows
  // kernels that lean on more alignment than they declare.
  std::uint32_t shared_base = 0;

  // Takes the timeline of every run in Chrome's JSON format, that of a run which found a fault too.
  // Empty: no timeline is kept.
  std::function<void(const std::string& chrome_trace)> on_timeline = {};
};

// For DeviceRequest::emulator. A fault that the emulator finds (a race, an out-of-bounds access, a
// deadlock, ...) is an error of code internal whose message names the PTX line, the warp and the
// values; the scores are then not to be trusted.
EmulatorFactory emulator_factory(EmulatorSettings settings);

}  // namespace mlaindex
