// A kernel store for tests that leave no files behind.
#pragma once

#include "runtime/config.h"
#include "runtime/kernel_store.h"

namespace mlaindex::mutation {

inline KernelStore memory_only_store() {
  Config config = config_from_environment();
  config.cache_enabled = false;
  return KernelStore(std::move(config), Log());
}

}  // namespace mlaindex::mutation
