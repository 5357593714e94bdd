#include "tools/output.h"

#include <cstdio>

#include "generator/base/format.h"

namespace mlaindex::tools {
namespace {

constexpr int label_width = 11;

void write(std::FILE* file, std::string_view text) { std::fwrite(text.data(), 1, text.size(), file); }

}  // namespace

Output::Output(std::string command, bool json)
    : json_(json), document_{{"command", std::move(command)}, {"exit_code", 0}} {}

void Output::line(std::string_view text) {
  if (!json_) write(stdout, fmt::format("{}\n", text));
}

void Output::row(std::string_view label, std::string_view value) {
  if (json_) return;
  std::string_view shown_label = label;
  for (std::size_t begin = 0; begin <= value.size();) {  // continuation lines align with the first
    const std::size_t end = std::min(value.find('\n', begin), value.size());
    line(fmt::format("{:<{}}{}", shown_label, label_width, value.substr(begin, end - begin)));
    shown_label = {};
    begin = end + 1;
  }
}

void Output::bytes(std::string_view bytes) {
  if (!json_) write(stdout, bytes);
}

void Output::set(const std::string& key, Json value) { document_[key] = std::move(value); }

void Output::warn(std::string_view text) {
  write(stderr, fmt::format("mlaindex: warning: {}\n", text));
  document_["warnings"].push_back(std::string(text));
}

void Output::fail(const Error& error) {
  write(stderr, fmt::format("mlaindex: error: {}\n", error.message));
  if (!error.hint.empty()) write(stderr, fmt::format("  {}\n", error.hint));
  document_["error"] = {
      {"code", error_code_name(error.code)}, {"message", error.message}, {"hint", error.hint}};
}

int Output::finish(ExitCode code) {
  document_["exit_code"] = static_cast<int>(code);
  if (json_) {
    // Messages may quote bytes of a broken file: those that are no UTF-8 are replaced.
    write(stdout, document_.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    write(stderr, "mlaindex: error: could not write to stdout\n");
    return static_cast<int>(ExitCode::environment);
  }
  return static_cast<int>(code);
}

}  // namespace mlaindex::tools
