#include "runtime/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <mutex>
#include <set>
#include <string>

#include "generator/base/format.h"

namespace mlaindex {
namespace {

constexpr const char* logger_name = "mlaindex";

spdlog::level::level_enum to_spdlog(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::trace: return spdlog::level::trace;
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warn: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::off: break;
  }
  return spdlog::level::off;
}

LogLevel from_spdlog(spdlog::level::level_enum level) noexcept {
  switch (level) {
    case spdlog::level::trace: return LogLevel::trace;
    case spdlog::level::debug: return LogLevel::debug;
    case spdlog::level::info: return LogLevel::info;
    case spdlog::level::warn: return LogLevel::warn;
    case spdlog::level::off: return LogLevel::off;
    default: return LogLevel::error;
  }
}

// Hands messages to the application, one at a time.
class CallbackSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  CallbackSink(LogCallback callback, void* user) : callback_(callback), user_(user) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    callback_(from_spdlog(message.level), std::string(message.payload.data(), message.payload.size()).c_str(),
              user_);
  }
  void flush_() override {}

  LogCallback callback_;
  void* user_;
};

}  // namespace

struct Log::State {
  State(spdlog::sink_ptr sink, LogLevel level) : logger(logger_name, std::move(sink)) {
    logger.set_level(to_spdlog(level));
    logger.set_pattern("%n: %^%l%$: %v");
    logger.flush_on(spdlog::level::warn);
    logger.set_error_handler([](const std::string&) {});  // a lost message is lost quietly
  }

  spdlog::logger logger;
  std::mutex mutex;
  std::set<std::string, std::less<>> warned;
};

std::string_view log_level_name(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::trace: return "trace";
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warn: return "warn";
    case LogLevel::error: return "error";
    case LogLevel::off: break;
  }
  return "off";
}

Log::Log(LogLevel level)
    : state_(std::make_shared<State>(std::make_shared<spdlog::sinks::stderr_color_sink_mt>(), level)) {}

Log::Log(LogLevel level, LogCallback callback, void* user)
    : state_(std::make_shared<State>(std::make_shared<CallbackSink>(callback, user), level)) {}

bool Log::enabled(LogLevel level) const noexcept { return state_->logger.should_log(to_spdlog(level)); }

void Log::write(LogLevel level, std::string_view message) const noexcept {
  try {
    state_->logger.log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
  } catch (...) {  // out of memory, or an application's callback that throws
  }
}

void Log::warn_once(std::string_view key, std::string_view message) const noexcept {
  bool first = true;
  try {
    std::lock_guard lock(state_->mutex);
    first = state_->warned.emplace(key).second;
  } catch (...) {
  }
  write(first ? LogLevel::warn : LogLevel::debug, message);
}

}  // namespace mlaindex
