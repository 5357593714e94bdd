#include "tests/hardware/facts/copy_check.h"

#include "generator/base/format.h"

namespace mlaindex::hardware {

void examine_load(Machine& machine, Findings& findings, const TileCopy& copy) {
  const auto bytes = static_cast<std::uint32_t>(box_bytes(copy.map));
  const Experiment experiment = load_experiment(copy, bytes, true);
  const Result<Bytes> output = machine.run(experiment);
  if (!findings.ran(copy.label, output)) return;
  const auto header = values<std::uint32_t>(std::span(*output).first(tma_header_bytes));
  findings.check(
      header[1] == 0 && header[2] == 1,
      fmt::format(
          "{}: full box of {} bytes counted: with 16 more expected the phase is {} after the box and {} after 16 more",
          copy.label, bytes, header[1] != 0 ? "complete" : "open", header[2] != 0 ? "complete" : "open"));
  const std::string difference =
      first_difference(std::span(*output).subspan(tma_header_bytes), expected_load(copy, {}, experiment.input));
  findings.check(difference == "equal", copy.label + ": contents " + difference);
}

void examine_store(Machine& machine, Findings& findings, const TileCopy& copy) {
  const Result<Bytes> output = machine.run(store_experiment(copy));
  if (!findings.ran(copy.label, output)) return;
  const std::string difference = first_difference(*output, expected_store(copy, {}));
  findings.check(difference == "equal", copy.label + ": tensor " + difference);
}

void examine_refusal(Machine& machine, Findings& findings, const Experiment& experiment) {
  const Result<Bytes> output = machine.run(experiment);
  findings.check(!output.ok(), experiment.label + ": " + (output ? "ran" : output.error().text()));
}

}  // namespace mlaindex::hardware
