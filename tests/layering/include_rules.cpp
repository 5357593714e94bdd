#include "tests/layering/include_rules.h"

#include <algorithm>
#include <array>

namespace mlaindex::layering {
namespace {

using std::string_view_literals::operator""sv;

// A layer is a path prefix. A file belongs to the first layer that its path starts with, so the
// more precise prefixes come first. `allowed` are path prefixes as well.
struct Layer {
  std::string_view prefix;
  std::vector<std::string_view> allowed;
};

const std::vector<Layer>& layers() {
  static const std::vector<Layer> table{
      {"generator/base/", {"generator/base/"}},
      {"generator/ptx/", {"generator/ptx/", "generator/base/"}},
      {"generator/", {"generator/"}},
      {"emulator/", {"emulator/", "generator/ptx/", "generator/base/"}},
      // The one place where the runtime knows the emulator: behind the Device interface.
      {"runtime/emulator_", {"runtime/", "emulator/", "generator/"}},
      {"runtime/", {"runtime/", "generator/"}},
      {"tools/", {"tools/", "runtime/", "generator/"}},
      // Device code is found from templates/, the way NVRTC sees it.
      {"templates/common/", {"common/"}},
      {"templates/sm90/", {"sm90/", "common/"}},
      {"templates/sm100/", {"sm100/", "common/"}},
  };
  return table;
}

// Opened at run time, never compiled against: the library builds and loads without a toolkit.
constexpr std::array cuda_headers{"cuda"sv, "nvrtc"sv, "cute/"sv, "cutlass/"sv};

// The parser's own headers, over LLVM's text classes. For all others LLVM stays in .cpp files, since
// whoever includes it compiles slowly.
constexpr std::array parser_headers{"generator/ptx/lexer.h"sv, "generator/ptx/token_stream.h"sv};

bool is_parser_header(std::string_view path) {
  return std::find(parser_headers.begin(), parser_headers.end(), path) != parser_headers.end();
}

bool starts_with_one_of(std::string_view text, const auto& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

bool is_header(std::string_view file) { return file.ends_with(".h"); }

}  // namespace

std::vector<Include> includes_of(std::string_view source) {
  std::vector<Include> includes;
  for (int line_number = 1; !source.empty(); ++line_number) {
    const std::size_t end = source.find('\n');
    std::string_view line = trimmed(source.substr(0, end));
    source.remove_prefix(end == std::string_view::npos ? source.size() : end + 1);

    if (!line.starts_with('#')) continue;
    line = trimmed(line.substr(1));
    if (!line.starts_with("include")) continue;
    line = trimmed(line.substr("include"sv.size()));
    if (line.empty() || (line.front() != '"' && line.front() != '<')) continue;
    const char closing = line.front() == '"' ? '"' : '>';
    const std::size_t length = line.find(closing, 1);
    if (length == std::string_view::npos) continue;
    includes.push_back({line_number, closing == '"', std::string(line.substr(1, length - 1))});
  }
  return includes;
}

std::optional<std::string> violation(std::string_view file, const Include& include) {
  const auto layer = std::find_if(layers().begin(), layers().end(), [&](const Layer& candidate) {
    return file.starts_with(candidate.prefix);
  });
  if (layer == layers().end()) return std::nullopt;  // tests, benchmarks and examples see all

  if (include.quoted) {
    if (is_parser_header(include.path) && !file.starts_with("generator/ptx/")) {
      return "it is the parser's own";
    }
    if (starts_with_one_of(include.path, layer->allowed)) return std::nullopt;
    return "files in " + std::string(layer->prefix) + " may not include it";
  }
  if (file.starts_with("templates/")) return "device code has no headers but its own";
  if (starts_with_one_of(include.path, cuda_headers)) return "CUDA is opened at run time";
  if (include.path.starts_with("llvm/") && is_header(file) && !is_parser_header(file)) {
    return "LLVM stays in .cpp files";
  }
  return std::nullopt;
}

}  // namespace mlaindex::layering
