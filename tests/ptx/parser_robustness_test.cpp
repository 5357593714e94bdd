#include <catch2/catch.hpp>

#include <random>

#include "generator/ptx/normalise.h"
#include "generator/ptx/parser.h"
#include "generator/ptx/printer.h"
#include "generator/ptx/verify.h"
#include "tests/ptx/test_data.h"

using namespace mlaindex;
using namespace mlaindex::ptx;

namespace {

// One random change: a byte replaced, a span removed, a span copied elsewhere.
void damage(std::string& text, std::mt19937& random) {
  static const std::string kBytes = "{}[]()<>,;:=+-|!@.%$_\"/*09azRF \n\0\xff";
  const auto place = [&] { return text.empty() ? 0 : random() % text.size(); };
  const std::size_t length = 1 + random() % 24;
  switch (random() % 3) {
    case 0:
      if (!text.empty()) text[place()] = kBytes[random() % kBytes.size()];
      break;
    case 1: text.erase(place(), length); break;
    default: {
      const std::string span = text.substr(place(), length);
      text.insert(place(), span);
    }
  }
}

// True when the text was taken.
bool survives(const std::string& text) {
  // A heap copy of exactly this size, so that a read past the end is seen by a sanitizer.
  const std::vector<char> exact(text.begin(), text.end());
  const Result<Module> module = parse({exact.data(), exact.size()});
  if (!module) {
    REQUIRE(module.error().code == ErrorCode::invalid_file);
    REQUIRE_FALSE(module.error().message.empty());
    return false;
  }
  const std::string printed = print(*module);
  INFO(text);
  const Result<Module> again = parse(printed);
  if (!again) FAIL(again.error().text());
  REQUIRE(*again == *module);
  for (const Function& function : module->functions)
    if (function.has_body) verify(*module, function, {});
  code_digest(*module);
  return true;
}

}  // namespace

TEST_CASE("damaged text is refused, or is a module like any other") {
  for (const char* file : {"forms.ptx", "pipeline_sm_90a.ptx", "debug_sm_90a.ptx"}) {
    INFO(file);
    const std::string original = test_data(file);
    std::mt19937 random(7);
    int taken = 0, refused = 0;
    for (int round = 0; round < 1500; ++round) {
      std::string text = original;
      for (std::uint32_t changes = 1 + random() % 3; changes > 0; --changes) damage(text, random);
      ++(survives(text) ? taken : refused);
    }
    CHECK(taken > 100);
    CHECK(refused > 100);
  }
}

TEST_CASE("every prefix of a text is judged") {
  const std::string text = test_data("forms.ptx");
  for (std::size_t size = 0; size < text.size(); size += 3) survives(text.substr(0, size));
}
