#include <catch2/catch.hpp>

#include "generator/ptx/facts_pass.h"
#include "generator/ptx/pipeline.h"
#include "generator/ptx/resource_gate.h"
#include "tests/ptx/test_data.h"

using namespace mlaindex;
using namespace mlaindex::ptx;

namespace {

Artifact artifact_of(const std::string& file) {
  Artifact artifact;
  artifact.cubin = test_data(file);
  return artifact;
}

PassContext tile_context() {
  PassContext context;
  context.entry = "tile";
  context.sm_number = 100;
  context.max_registers_per_thread = 16;
  context.dynamic_shared_bytes = 1000;
  context.max_shared_bytes = 1128;
  return context;
}

Status gate(Artifact& artifact, const PassContext& context) {
  Pipeline pipeline;
  pipeline.add(std::make_unique<FactsPass>()).add(std::make_unique<ResourceGate>());
  return pipeline.run(artifact, context);
}

void check_refused(const std::string& file, const PassContext& context, const std::string& given,
                   const std::string& allowed) {
  Artifact artifact = artifact_of(file);
  const Status status = gate(artifact, context);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::rejected_by_pass);
  CHECK_THAT(status.error().message, Catch::StartsWith("resource_gate: ") && Catch::Contains(given));
  CHECK_THAT(status.error().hint, Catch::Contains(allowed));
}

}  // namespace

TEST_CASE("a kernel exactly at its budgets passes") {
  Artifact artifact = artifact_of("tile_sm_100a.cubin");
  CHECK(gate(artifact, tile_context()).ok());
  CHECK(artifact.facts.kernels.at(0).entry == "tile");
  CHECK_FALSE(artifact.notes.empty());
}

TEST_CASE("each limit is refused with what was given and what is allowed") {
  PassContext context = tile_context();
  SECTION("registers") {
    context.max_registers_per_thread = 15;
    check_refused("tile_sm_100a.cubin", context, "16 registers", "15");
  }
  SECTION("shared memory") {
    context.max_shared_bytes = 1127;
    check_refused("tile_sm_100a.cubin", context, "1128 bytes of shared memory (128 static)", "1127");
  }
  SECTION("architecture") {
    check_refused("tile_sm_90a.cubin", context, "sm_90", "plan's architecture");
  }
  SECTION("entry symbol") {
    context.entry = "other";
    check_refused("tile_sm_100a.cubin", context, "tile", "other");
  }
  SECTION("more than one entry") {
    context.entry = "first";
    check_refused("pair_sm_100a.cubin", context, "second, first", "exactly one");
  }
}

TEST_CASE("a spilling kernel is refused unless spills are allowed") {
  PassContext context = tile_context();
  context.entry = "spill";
  context.sm_number = 90;
  context.max_registers_per_thread = 24;
  check_refused("spill_sm_90a.cubin", context, "spills", "0 is allowed");
  context.allow_spills = true;
  Artifact artifact = artifact_of("spill_sm_90a.cubin");
  CHECK(gate(artifact, context).ok());
}

TEST_CASE("a cubin that cannot be read is named so") {
  Artifact artifact;
  const Status status = gate(artifact, tile_context());
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::invalid_file);
  CHECK_THAT(status.error().message, Catch::StartsWith("facts: "));
}
