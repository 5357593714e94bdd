#include <catch2/catch.hpp>

#include "generator/ptx/parser.h"
#include "generator/ptx/pipeline.h"
#include "generator/ptx/printer.h"
#include "tests/ptx/machine_code.h"
#include "tests/ptx/test_data.h"

using namespace mlaindex;
using namespace mlaindex::ptx;

namespace {

Module pipeline_module() { return parse(test_data("pipeline_sm_90a.ptx")).value(); }

std::string rewritten_text(const Module& module, const RewriteOptions& options) {
  const Result<Module> changed = rewritten(module, options);
  if (!changed) FAIL(changed.error().text());
  return print(*changed);
}

PassContext pipeline_context() {
  PassContext context;
  context.entry = "pipeline";
  context.sm_number = 90;
  context.max_registers_per_thread = 255;
  context.dynamic_shared_bytes = 8192;
  context.max_shared_bytes = 232448;
  return context;
}

}  // namespace

TEST_CASE("no options, no change") { CHECK(rewritten(pipeline_module(), {}).value() == pipeline_module()); }

TEST_CASE("register and pragma directives") {
  RewriteOptions options;
  options.max_registers = 128;
  options.entry_pragmas = {"enable_smem_spilling"};
  const std::string text = rewritten_text(pipeline_module(), options);
  CHECK_THAT(text, Catch::Contains(".minnctapersm 1\n.maxnreg 128\n"));
  CHECK_THAT(text, Catch::Contains("{\n  .pragma \"enable_smem_spilling\";"));
  for (int count : {23, 256}) {
    options.max_registers = count;
    CHECK(rewritten(pipeline_module(), options).error().code == ErrorCode::invalid_argument);
  }
}

TEST_CASE("eviction hints go to the loads of one tensor map") {
  RewriteOptions options;
  options.tma_eviction = {{0, Eviction::first}};
  const Module first = rewritten(pipeline_module(), options).value();
  CHECK_THAT(print(first), Catch::Contains("complete_tx::bytes.L2::cache_hint [%r35], [%rd21, {%r37, %r30}], [%r36], 1364590687093260288;"));
  options.tma_eviction = {{0, Eviction::last}};
  const std::string last = rewritten_text(first, options);  // replaces, does not add
  CHECK_THAT(last, Catch::Contains("], 1508705875169116160;") && !Catch::Contains("1364590687093260288"));
  CHECK_THAT(last, !Catch::Contains("cache_hint.L2"));
  options.tma_eviction = {{1, Eviction::last}};
  const Result<Module> none = rewritten(pipeline_module(), options);
  REQUIRE_FALSE(none.ok());
  CHECK_THAT(none.error().message, Catch::Contains("parameter 1"));
}

TEST_CASE("debug information is stripped") {
  RewriteOptions options;
  options.strip_debug = true;
  const std::string text = rewritten_text(parse(test_data("debug_sm_90a.ptx")).value(), options);
  for (const char* directive : {".loc ", ".file ", ".section ", "debug\n"})
    CHECK_THAT(text, !Catch::Contains(directive));
  CHECK_THAT(text, Catch::Contains(".target sm_90a\n"));
}

TEST_CASE("the options are part of the pipeline's digest") {
  RewriteOptions registers, hints;
  registers.max_registers = 128;
  hints.tma_eviction = {{0, Eviction::first}};
  const Error none{ErrorCode::no_nvrtc, "no assembler", ""};
  const Digest with_registers = rewriting_pipeline(registers, none).digest();
  CHECK(with_registers == rewriting_pipeline(registers, none).digest());
  CHECK(with_registers != rewriting_pipeline(hints, none).digest());
  CHECK(with_registers != pipeline_digest());
}

TEST_CASE("without an assembler a rewrite is refused with the reason") {
  RewriteOptions options;
  options.max_registers = 128;
  Artifact artifact;
  artifact.ptx = test_data("pipeline_sm_90a.ptx");
  const Pipeline pipeline = rewriting_pipeline(options, Error{ErrorCode::no_nvrtc, "no ptxas here", "install it"});
  const Status status = pipeline.run(artifact, pipeline_context());
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::no_nvrtc);
  CHECK(status.error().message == "rewrite: no ptxas here");
}

TEST_CASE("a rewritten kernel is assembled and judged anew") {
  const Result<Assembler> assembler = Assembler::find();
  if (!assembler) {
    WARN("skipped: " << assembler.error().text());
    return;
  }
  const auto run = [&](const RewriteOptions& options, Artifact& artifact) {
    artifact.ptx = test_data("pipeline_sm_90a.ptx");
    return rewriting_pipeline(options, assembler).run(artifact, pipeline_context());
  };
  Artifact plain, hinted, capped;
  REQUIRE(run({}, plain).ok());
  RewriteOptions options;
  options.tma_eviction = {{0, Eviction::first}};
  REQUIRE(run(options, hinted).ok());
  CHECK(machine_code(hinted.cubin) != machine_code(plain.cubin));
  CHECK(hinted.code_digest != plain.code_digest);
  CHECK(hinted.facts.kernels.at(0).entry == "pipeline");

  options = {};
  options.max_registers = 136;
  REQUIRE(run(options, capped).ok());
  CHECK(capped.facts.kernels.at(0).registers == 136);
  // setmaxnreg.inc 232 and .dec 40 do not fit into 2 x 128: the verify pass sees it.
  options.max_registers = 128;
  const Status starved = run(options, capped);
  REQUIRE_FALSE(starved.ok());
  CHECK_THAT(starved.error().message, Catch::Contains("register_pool"));
}
