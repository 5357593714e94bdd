#include "tools/progress_bar.h"

#include <cstdio>
#include <string>

#include <unistd.h>

#include "generator/base/format.h"

namespace mlaindex::tools {
namespace {

constexpr std::size_t bar_width = 30;
constexpr std::size_t text_width = 40;  // the whole line stays below 80 columns
constexpr std::string_view erase_line = "\r\x1b[K";

void write(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

ProgressBar::ProgressBar(std::size_t total, bool terminal) : total_(total), terminal_(terminal) {}

ProgressBar::ProgressBar(std::size_t total) : ProgressBar(total, ::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (terminal_ && done_ > 0) write(erase_line);
}

void ProgressBar::advance(std::string_view text) {
  const std::lock_guard lock(mutex_);
  ++done_;
  if (!terminal_) return write(fmt::format("[{}/{}] {}\n", done_, total_, text));
  const std::size_t filled = total_ == 0 ? bar_width : bar_width * done_ / total_;
  write(fmt::format("{}[{}{}] {}/{} {}", erase_line, std::string(filled, '#'), std::string(bar_width - filled, '.'),
                    done_, total_, text.substr(0, text_width)));
}

}  // namespace mlaindex::tools
