// The least time a problem can take, from three published limits of the hardware.
#pragma once

#include <cstdint>
#include <string>

#include "generator/spec.h"

namespace mlaindex::tools {

// Microseconds for every token seeing every key; a causal mask has less to do.
struct LowerBound {
  std::string device;
  int num_sms = 0;
  double tensor = 0;  // e4m3 products on the tensor cores
  double fold = 0;    // relu and multiply-add of each dot product on the CUDA cores
  double memory = 0;  // each input read once, each score written once
};

LowerBound lower_bound(const Spec& spec, std::int64_t num_tokens, std::int64_t num_keys) noexcept;

// Operations a second, dense e4m3, of the board that stands for the arch: H200, B200.
double published_tensor_rate(Arch arch) noexcept;

// Two lines for a person.
std::string describe(const LowerBound& bound);

}  // namespace mlaindex::tools
