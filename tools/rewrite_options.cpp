#include "tools/rewrite_options.h"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "generator/base/format.h"

namespace mlaindex::tools {
namespace {

Error not_understood(const std::string& item, std::string_view why) {
  return {ErrorCode::invalid_argument, fmt::format("--rewrite {}: {}", item, why),
          fmt::format("allowed: {}", rewrite_items)};
}

// The kernel parameter that holds the tensor map (generator/kernel_arguments.h).
std::optional<int> map_parameter(std::string_view tensor) {
  static constexpr std::array<std::string_view, 3> tensors{"q", "k", "k_scale"};
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i] == tensor) return static_cast<int>(i);
  return std::nullopt;
}

std::optional<ptx::Eviction> eviction_of(std::string_view name) {
  if (name == "evict-first") return ptx::Eviction::first;
  if (name == "evict-last") return ptx::Eviction::last;
  if (name == "evict-normal") return ptx::Eviction::normal;
  return std::nullopt;
}

std::optional<int> integer(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status add(ptx::RewriteOptions& options, const std::string& item) {
  const std::size_t equals = item.find('=');
  const std::string name = item.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : item.substr(equals + 1);
  if (item == "strip-debug") {
    options.strip_debug = true;
    return {};
  }
  const auto eviction = eviction_of(name);
  if (!eviction && name != "max-registers" && name != "pragma" && name != "ptxas")
    return not_understood(item, "not understood");
  if (value.empty()) return not_understood(item, "it needs a value");
  if (eviction) {
    const auto parameter = map_parameter(value);
    if (!parameter) return not_understood(item, "no such tensor");
    options.tma_eviction[*parameter] = *eviction;
  } else if (name == "max-registers") {
    options.max_registers = integer(value);
    if (!options.max_registers) return not_understood(item, "not a number");
  } else if (name == "pragma") {
    if (value.find_first_of("\"\\\n") != std::string::npos) return not_understood(item, "no quotes or line ends");
    options.entry_pragmas.push_back(value);
  } else {
    options.assembler_options.push_back(value);
  }
  return {};
}

}  // namespace

Result<ptx::RewriteOptions> parse_rewrite(const std::vector<std::string>& items) {
  ptx::RewriteOptions options;
  for (const std::string& item : items)
    if (Status added = add(options, item); !added) return added.error();
  return options;
}

}  // namespace mlaindex::tools
