// Options that several commands share, and what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "generator/base/result.h"
#include "generator/route.h"
#include "generator/spec.h"
#include "runtime/config.h"

namespace mlaindex::tools {

// Of every command.
struct CommonOptions {
  bool json = false;
  std::string cache_dir;  // empty: from the environment
  std::string dump_dir, override_dir;  // empty: from the environment
  std::string log_level;  // empty: from the environment
};

// The environment's configuration with the options applied. Error: invalid_argument.
Result<Config> config_of(const CommonOptions& options);

// One kernel: of emit, compile and explain.
struct SpecOptions {
  std::string arch;
  int num_heads = 64;
  int depth = 128;
  std::string op = "score";
  std::string layout = "contiguous";
  int page_size = 64;  // of the layout "paged"
  std::string mask;    // empty: ragged_causal, of paged keys context
  std::string score_type = "f32";
  std::string fill = "none";
  std::string fold = "f32";
  std::string plan;  // empty: the default
  std::optional<std::int64_t> num_tokens, num_keys, num_requests;
};

// Errors: unsupported_arch, unsupported_shape, invalid_argument; each says what is allowed.
Result<Spec> spec_of(const SpecOptions& options);

// Zero where not given.
ProblemSize size_of(const SpecOptions& options);

}  // namespace mlaindex::tools
