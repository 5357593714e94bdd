#include "generator/preprocessor.h"

#include <catch2/catch.hpp>

using namespace mlaindex;

TEST_CASE("branches not taken disappear, nested ones too") {
  const char* text =
      "a\n"
      "#if ON\n"
      "b\n"
      "#if WIDTH >= 8\n"
      "wide\n"
      "#elif WIDTH == 4\n"
      "four\n"
      "#else\n"
      "narrow\n"
      "#endif\n"
      "#else\n"
      "#if ON\n"
      "never\n"
      "#endif\n"
      "#endif\n"
      "#pragma unroll\n"
      "z\n";
  CHECK(resolve_switches(text, {{"ON", 1}, {"WIDTH", 16}}).value() == "a\nb\nwide\n#pragma unroll\nz\n");
  CHECK(resolve_switches(text, {{"ON", 1}, {"WIDTH", 4}}).value() == "a\nb\nfour\n#pragma unroll\nz\n");
  CHECK(resolve_switches(text, {{"ON", 1}, {"WIDTH", 2}}).value() == "a\nb\nnarrow\n#pragma unroll\nz\n");
  CHECK(resolve_switches(text, {{"ON", 0}, {"WIDTH", 16}}).value() == "a\n#pragma unroll\nz\n");
}

TEST_CASE("only the first branch that holds is taken") {
  CHECK(resolve_switches("#if A\n1\n#elif A\n2\n#else\n3\n#endif\n", {{"A", 1}}).value() == "1\n");
  CHECK(resolve_switches("#if !A\n1\n#endif\n", {{"A", 0}}).value() == "1\n");
}

TEST_CASE("what cannot be resolved is an error that names the line") {
  for (const char* text : {"#if UNKNOWN\n#endif\n", "#if A\n", "#endif\n", "#else\n", "#define A 1\n",
                           "#if A == B\n#endif\n", "#if A = 1\n#endif\n", "#if A == 1 extra\n#endif\n"}) {
    INFO(text);
    const Result<std::string> result = resolve_switches(text, {{"A", 1}});
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == ErrorCode::internal);
  }
}
