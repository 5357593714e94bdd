// Messages for people: a logger of this library's own, never spdlog's global registry.
#pragma once

#include <memory>
#include <string_view>

namespace mlaindex {

enum class LogLevel { trace, debug, info, warn, error, off };

// "trace" ... "off", the spelling of MLAINDEX_JIT_LOG.
std::string_view log_level_name(LogLevel level) noexcept;

// Receives one message. `message` is NUL-terminated and valid during the call only. May be called
// from several threads, one at a time for one Log.
using LogCallback = void (*)(LogLevel level, const char* message, void* user);

// A handle, cheap to copy; copies share the sink and the memory of warn_once. Thread-safe. Never
// throws: a message that cannot be delivered is lost.
class Log {
 public:
  // To stderr, in colour on a terminal.
  explicit Log(LogLevel level = LogLevel::warn);
  Log(LogLevel level, LogCallback callback, void* user);

  bool enabled(LogLevel level) const noexcept;
  void write(LogLevel level, std::string_view message) const noexcept;
  void debug(std::string_view message) const noexcept { write(LogLevel::debug, message); }
  void info(std::string_view message) const noexcept { write(LogLevel::info, message); }
  void warn(std::string_view message) const noexcept { write(LogLevel::warn, message); }

  // The first message under each key is a warning, later ones are debug messages.
  void warn_once(std::string_view key, std::string_view message) const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace mlaindex
