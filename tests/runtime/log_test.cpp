#include "runtime/log.h"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "tests/runtime/message_collector.h"

using namespace mlaindex;

TEST_CASE("log: messages below the level are dropped, the rest reach the callback as written") {
  MessageCollector collector;
  const Log log = collector.log(LogLevel::info);
  log.debug("too detailed");
  log.info("braces {} and %s are text");
  log.warn("second");
  REQUIRE(collector.messages.size() == 2);
  CHECK(collector.messages[0] == std::pair(LogLevel::info, std::string("braces {} and %s are text")));
  CHECK(collector.messages[1].first == LogLevel::warn);
  CHECK(log.enabled(LogLevel::error));
  CHECK_FALSE(log.enabled(LogLevel::trace));
}

TEST_CASE("log: off is silent") {
  MessageCollector collector;
  const Log log = collector.log(LogLevel::off);
  log.write(LogLevel::error, "x");
  CHECK(collector.messages.empty());
}

TEST_CASE("log: warn_once warns once per key, also through a copy") {
  MessageCollector collector;
  const Log log = collector.log(LogLevel::debug);
  const Log copy = log;
  log.warn_once("disk", "first");
  copy.warn_once("disk", "second");
  copy.warn_once("network", "third");
  REQUIRE(collector.messages.size() == 3);
  CHECK(collector.messages[0].first == LogLevel::warn);
  CHECK(collector.messages[1].first == LogLevel::debug);
  CHECK(collector.messages[2].first == LogLevel::warn);
}

TEST_CASE("log: a callback that throws loses its message and nothing else") {
  const Log log(LogLevel::warn, [](LogLevel, const char*, void*) { throw std::runtime_error("no"); }, nullptr);
  log.warn("lost");
  log.warn("lost too");
  CHECK(log.enabled(LogLevel::warn));
}
