// Progress on stderr: a bar on a terminal, one plain line per step elsewhere.
#pragma once

#include <cstddef>
#include <mutex>
#include <string_view>

namespace mlaindex::tools {

// Thread-safe. Removes the bar when destroyed, so that what follows starts on a clean line.
class ProgressBar {
 public:
  ProgressBar(std::size_t total, bool terminal);
  explicit ProgressBar(std::size_t total);  // a terminal when stderr is one
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // One step is done; `text` says which.
  void advance(std::string_view text);

 private:
  std::mutex mutex_;
  std::size_t total_;
  std::size_t done_ = 0;
  bool terminal_;
};

}  // namespace mlaindex::tools
