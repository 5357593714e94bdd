// A log whose messages a test can look at.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/log.h"

namespace mlaindex {

class MessageCollector {
 public:
  // The log refers to this object.
  Log log(LogLevel level = LogLevel::warn) { return Log(level, &MessageCollector::collect, this); }

  std::vector<std::pair<LogLevel, std::string>> messages;

 private:
  static void collect(LogLevel level, const char* message, void* user) {
    static_cast<MessageCollector*>(user)->messages.emplace_back(level, message);
  }
};

}  // namespace mlaindex
