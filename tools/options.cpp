#include "tools/options.h"

#include "generator/base/format.h"

namespace mlaindex::tools {
namespace {

Result<LogLevel> parse_log_level(const std::string& name) {
  std::string allowed = "allowed:";
  for (LogLevel level :
       {LogLevel::trace, LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error, LogLevel::off}) {
    if (name == log_level_name(level)) return level;
    allowed += fmt::format(" {}", log_level_name(level));
  }
  return Error{ErrorCode::invalid_argument, fmt::format("unknown log level '{}'", name), allowed};
}

Status check_op(const std::string& op) {
  if (op == "score") return {};
  return Error{ErrorCode::invalid_argument, fmt::format("unknown op '{}'", op), "allowed: score"};
}

Status check_size(const char* option, const std::optional<std::int64_t>& size) {
  if (!size || (*size >= 0 && *size <= 0x7fffffff)) return {};
  return Error{ErrorCode::invalid_argument, fmt::format("{} {}", option, *size), "allowed: 0 to 2147483647"};
}

}  // namespace

Result<Config> config_of(const CommonOptions& options) {
  Config config = config_from_environment();
  if (!options.cache_dir.empty()) config.use_cache_dir(options.cache_dir);
  if (!options.dump_dir.empty()) config.dump_dir = options.dump_dir;
  if (!options.override_dir.empty()) config.override_dir = options.override_dir;
  if (!options.log_level.empty()) {
    const Result<LogLevel> level = parse_log_level(options.log_level);
    if (!level) return level.error();
    config.log_level = *level;
  }
  return config;
}

Result<Spec> spec_of(const SpecOptions& options) {
  if (Status op = check_op(options.op); !op) return op.error();
  const Result<Layout> layout = parse_layout(options.layout);
  if (!layout) return layout.error();
  if (Status tokens = check_size("--tokens", options.num_tokens); !tokens) return tokens.error();
  if (Status keys = check_size("--keys", options.num_keys); !keys) return keys.error();
  if (Status requests = check_size("--requests", options.num_requests); !requests) return requests.error();
  const Result<Arch> arch = parse_arch(options.arch);
  if (!arch) return arch.error();
  const Mask default_mask = *layout == Layout::paged ? Mask::context : Mask::ragged_causal;
  const Result<Mask> mask = options.mask.empty() ? default_mask : parse_mask(options.mask);
  if (!mask) return mask.error();
  const Result<ScoreType> score_type = parse_score_type(options.score_type);
  if (!score_type) return score_type.error();
  const Result<Fill> fill = parse_fill(options.fill);
  if (!fill) return fill.error();
  const Result<FoldType> fold = parse_fold(options.fold);
  if (!fold) return fold.error();
  const Spec spec{.arch = *arch, .num_heads = options.num_heads, .depth = options.depth, .mask = *mask,
                  .score_type = *score_type, .fill = *fill, .layout = *layout,
                  .page_size = *layout == Layout::paged ? options.page_size : 0, .fold = *fold};
  if (Status valid = validate(spec); !valid) return valid.error();
  return spec;
}

ProblemSize size_of(const SpecOptions& options) {
  return {static_cast<int>(options.num_tokens.value_or(0)), static_cast<int>(options.num_keys.value_or(0)),
          static_cast<int>(options.num_requests.value_or(0))};
}

}  // namespace mlaindex::tools
