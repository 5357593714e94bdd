// A small cache entry.
#pragma once

#include "runtime/cache_entry.h"

namespace mlaindex {

inline CacheEntry sample_entry(const std::string& compiler = "nvrtc 13.0 aa") {
  CacheEntry entry;
  entry.key = make_cache_key({{"format", "1"}, {"compiler", compiler}});
  entry.spec = "score arch=sm_90a";
  entry.plan_name = "q_resident";
  entry.kernel_name = "kernel";
  entry.arch = "sm_90a";
  entry.facts.entry = "kernel";
  entry.facts.registers = 168;
  entry.facts.frame_bytes = 8;
  entry.facts.min_stack_bytes = 16;
  entry.facts.static_shared_bytes = 1024;
  entry.facts.parameter_bytes = 464;
  entry.facts.max_threads = {384, 1, 1};
  entry.facts.code_bytes = 13184;
  entry.created = 1700000000;
  entry.cubin = std::string("\x7f" "ELF\0\0cubin", 11);
  entry.ptx = ".version 9.0\n";
  return entry;
}

}  // namespace mlaindex
