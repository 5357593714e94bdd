// What the model knows of a GPU: published rates, and constants fitted to measured times.
#pragma once

#include <string_view>

#include "generator/arch.h"
#include "generator/base/result.h"

namespace mlaindex::model {

struct Gpu {
  std::string_view name;  // "H200"
  Arch arch = Arch::sm_90a;
  bool calibrated = false;  // the fitted constants are of this GPU; else they are another one's, and times predictions

  int num_sms = 0;
  double products_per_clock = 0;      // e4m3 multiply-adds of an SM's tensor core
  double shared_bytes_per_clock = 0;  // of an SM's shared memory, read or written

  // Under the tensor core's load the clock falls from the first to the second, proportionally to the share of the
  // time that the tensor core is busy, until that share is `sustained_load`: the GPU's power is limited.
  double gigahertz = 0;
  double sustained_gigahertz = 0;
  double sustained_load = 0;

  double dram_bytes_per_us = 0;  // reached by a kernel that only reads
  double l2_bytes_per_us = 0;
  double l2_bytes = 0;           // what a launch may read and write and still find in L2 at the next one

  double launch_us = 0;          // from one launch to the next, in a stream or a graph
  double start_clocks = 0;       // until the first tile's scores leave: contiguous keys
  double start_clocks_paged = 0;
  double start_clocks_resident = 0;  // where keys stay: nothing is counted before the first copy
  double block_start_clocks = 0; // more, for every block of tokens that a CTA works on

  double dispatch = 1;  // clocks that an issue slot costs while the tensor core works
  double overlap = 1;   // order p of the sum (a^p + b^p)^(1/p) of times that run under each other
};

// "h200", "b200". Error: invalid_argument with what is allowed.
Result<Gpu> gpu_of_name(std::string_view name);

// H200 for sm_90a, B200 for sm_100a.
const Gpu& gpu_of_arch(Arch arch) noexcept;

}  // namespace mlaindex::model
