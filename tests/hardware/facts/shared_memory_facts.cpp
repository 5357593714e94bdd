// Where a kernel's shared memory starts, and the bits of an mbarrier.
#include "generator/base/format.h"
#include "tests/hardware/facts/fact.h"

namespace mlaindex::hardware {
namespace {

constexpr std::uint32_t reserved_bytes = 0x400;
constexpr std::uint32_t dynamic_bytes = 2048;

std::uint32_t round_up(std::uint32_t value, std::uint32_t step) { return (value + step - 1) / step * step; }

void shared_base(Machine& machine, Findings& findings) {
  for (const std::uint32_t fixed : {0u, 12u, 800u}) {
    for (const std::uint32_t alignment : {16u, 128u, 512u, 1024u}) {
      Experiment experiment{
          .label = fmt::format("{} static bytes, alignment {}", fixed, alignment),
          .kernel = "shared_base",
          .constants = {{"STATIC_BYTES", static_cast<int>(fixed)}, {"ALIGNMENT", static_cast<int>(alignment)}},
          .threads = 32,
          .shared_bytes = dynamic_bytes};
      experiment.output_bytes = 16;
      const Result<Bytes> output = machine.run(experiment);
      if (!findings.ran(experiment.label, output)) continue;
      const auto seen = values<std::uint32_t>(*output);
      const std::uint32_t expected = reserved_bytes + round_up(fixed, alignment);
      findings.check(
          seen[0] == expected && seen[1] == dynamic_bytes && (fixed == 0 || seen[3] == reserved_bytes),
          fmt::format("{}: dynamic part at 0x{:x} (expected 0x{:x}), static part at 0x{:x}, sizes {} dynamic, {} total",
                      experiment.label, seen[0], expected, seen[3], seen[1], seen[2]));
    }
  }
}

void reserved_shared(Machine& machine, Findings& findings) {
  Experiment experiment{.label = "special registers", .kernel = "reserved_shared", .threads = 32};
  experiment.output_bytes = 20;
  const Result<Bytes> output = machine.run(experiment);
  if (!findings.ran(experiment.label, output)) return;
  const auto seen = values<std::uint32_t>(*output);
  findings.check(seen[0] == 0 && seen[2] == reserved_bytes && seen[1] <= reserved_bytes,
                 fmt::format("begin 0x{:x}, end 0x{:x}, cap 0x{:x} (expected: begin 0, cap 0x400, end up to that), "
                             "offset_0 0x{:x}, offset_1 0x{:x}",
                             seen[0], seen[1], seen[2], seen[3], seen[4]));
}

void mbarrier_bits(Machine& machine, Findings& findings) {
  Experiment experiment{.label = "life of a barrier", .kernel = "mbarrier_bits", .threads = 32, .shared_bytes = 64};
  experiment.output_bytes = 64;
  const Result<Bytes> output = machine.run(experiment);
  if (!output) return findings.note(output.error().text());
  static constexpr const char* steps[] = {"init 1",          "init 5",
                                          "arrive",          "expect_tx 256",
                                          "complete_tx 256", "four more arrives: next phase",
                                          "init 0xfffff",    "init 3, arrive_drop"};
  const auto seen = values<std::uint64_t>(*output);
  for (std::size_t i = 0; i < seen.size(); ++i) findings.note(fmt::format("0x{:016x} after {}", seen[i], steps[i]));
}

constexpr Fact facts[] = {
    {"shared-base", "static shared memory starts at 0x400, dynamic after it at its declared alignment", shared_base},
    {"reserved-shared", "the system keeps [0, cap = 0x400) of shared memory, and uses it up to end", reserved_shared, Emulator::silent},
    {"mbarrier-bits", "record: the bits of an mbarrier", mbarrier_bits, Emulator::silent, true},
};

}  // namespace

std::span<const Fact> shared_memory_facts() noexcept { return facts; }

}  // namespace mlaindex::hardware
