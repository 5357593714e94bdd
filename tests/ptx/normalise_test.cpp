#include <catch2/catch.hpp>

#include <regex>

#include "generator/ptx/assembler.h"
#include "generator/ptx/normalise.h"
#include "generator/ptx/parser.h"
#include "generator/ptx/printer.h"
#include "tests/ptx/machine_code.h"
#include "tests/ptx/test_data.h"

using namespace mlaindex;
using namespace mlaindex::ptx;

namespace {

Digest digest(const std::string& text) {
  const Result<Module> module = parse(text);
  if (!module) FAIL(module.error().text());
  return code_digest(*module);
}

std::string replaced(const std::string& text, const std::string& pattern, const std::string& with) {
  const std::string result = std::regex_replace(text, std::regex(pattern), with);
  REQUIRE(result != text);
  return result;
}

}  // namespace

TEST_CASE("what does not change the code does not change the digest") {
  const std::string text = test_data("pipeline_sm_90a.ptx");
  const Digest expected = digest(text);
  CHECK(digest(replaced(text, "//[^\n]*", "")) == expected);
  CHECK(digest(replaced(text, "CL-36424714", "CL-1")) == expected);
  CHECK(digest(replaced(text, "\n", "\n\n")) == expected);
  CHECK(digest(replaced(text, "\t", " ")) == expected);
  CHECK(digest(replaced(text, "LAB_WAIT", "retry")) == expected);
  CHECK(digest(replaced(text, "\\$L__BB0_", "$block")) == expected);
  CHECK(digest(replaced(text, "%rd", "%wide")) == expected);
  CHECK(digest(replaced(text, "%f<[0-9]+>", "%f<900>")) == expected);
  CHECK(digest(replaced(text, "%r34, 8192", "%r34, 0x2000")) == expected);
  CHECK(digest(replaced(text, "\tbar.sync", "UNUSED:\n\t.loc 1 2 3\n\tbar.sync")) == expected);
  CHECK(digest(replaced(text, "\\.extern \\.shared",
                        ".global .align 4 .u32 unused = 3;\n.extern .shared")) == expected);
  CHECK(digest(print(parse(text).value())) == expected);
}

TEST_CASE("what changes the code changes the digest") {
  const std::string text = test_data("pipeline_sm_90a.ptx");
  std::vector<Digest> digests{digest(text)};
  for (const auto& [pattern, with] :
       {std::pair{"%r34, 8192", "%r34, 8193"}, std::pair{"setmaxnreg.dec.sync.aligned.u32 40", "setmaxnreg.dec.sync.aligned.u32 48"},
        std::pair{"\\.maxntid 256", ".maxntid 128"}, std::pair{"@P1 bra DONE", "@!P1 bra DONE"},
        std::pair{"wait_group.sync.aligned 0", "wait_group.sync.aligned 1"},
        std::pair{"fence.mbarrier_init[^;]*;", ""}, std::pair{"sm_90a", "sm_100a"},
        std::pair{"\\.align 1024 \\.b8 tiles", ".align 512 .b8 tiles"},
        std::pair{"\\.reg \\.f32", ".reg .b32"}, std::pair{"bra LAB_WAIT", "bra DONE"}}) {
    INFO(pattern);
    const Digest changed = digest(replaced(text, pattern, with));
    CHECK(std::find(digests.begin(), digests.end(), changed) == digests.end());
    digests.push_back(changed);
  }
}

TEST_CASE("debug builds of the same text differ only in debug directives") {
  const std::string text = test_data("debug_sm_90a.ptx");
  std::string stripped = replaced(text, "\\.section[^}]*\\}", "");
  stripped = replaced(stripped, "\t\\.(loc|file)[^\n]*\n", "\n");
  CHECK(digest(stripped) == digest(text));
}

TEST_CASE("a normalised module means the same") {
  for (const char* file : {"forms.ptx", "debug_sm_90a.ptx", "pipeline_sm_90a.ptx", "pipeline_sm_100a.ptx"}) {
    INFO(file);
    const std::string text = print(normalised(parse(test_data(file)).value()));
    const Result<Module> again = parse(text, "normalised");
    if (!again) FAIL(again.error().text());
    CHECK(print(normalised(*again)) == text);
    CHECK(text.find(".loc ") == std::string::npos);
  }
  const Result<Assembler> assembler = Assembler::find();
  if (!assembler) {
    WARN("skipped: " << assembler.error().text());
    return;
  }
  for (const auto& [file, arch] : {std::pair{"pipeline_sm_90a.ptx", "sm_90a"},
                                   std::pair{"pipeline_sm_100a.ptx", "sm_100a"}}) {
    INFO(file);
    const std::string original = test_data(file);
    const Result<std::string> before = assembler->assemble(original, arch);
    const Result<std::string> after = assembler->assemble(print(normalised(parse(original).value())), arch);
    REQUIRE(before.ok());
    REQUIRE(after.ok());
    CHECK(machine_code(*before) == machine_code(*after));
  }
}

TEST_CASE("the pass fills the artifact, or says why it cannot") {
  Artifact artifact;
  artifact.ptx = test_data("pipeline_sm_100a.ptx");
  REQUIRE(NormalisePass().run(artifact, {}).ok());
  CHECK(artifact.code_digest == digest(artifact.ptx));
  artifact.ptx = "nonsense";
  CHECK(NormalisePass().run(artifact, {}).error().code == ErrorCode::invalid_file);
}
