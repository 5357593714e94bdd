// elect.sync, the addresses of shared memory in a cluster, the size of clusters.
#include <bit>

#include "generator/base/format.h"
#include "tests/hardware/facts/fact.h"

namespace mlaindex::hardware {
namespace {

void examine_masks(Machine& machine, Findings& findings, const char* label, const std::vector<std::uint32_t>& masks,
                   std::uint32_t exited) {
  Experiment experiment{.label = label, .kernel = "elect", .threads = 32};
  experiment.settings = {static_cast<std::int32_t>(masks.size()), static_cast<std::int32_t>(exited)};
  experiment.input = bytes_of(masks);
  experiment.output_bytes = masks.size() * 32 * 4;
  const Result<Bytes> output = machine.run(experiment);
  if (!findings.ran(label, output)) return;
  const auto result = values<std::uint32_t>(*output);
  for (std::size_t i = 0; i < masks.size(); ++i) {
    const std::uint32_t members = masks[i] & ~((1u << exited) - 1);
    const auto lowest = static_cast<std::uint32_t>(std::countr_zero(members));
    bool as_stated = true;
    std::string elected;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const std::uint32_t seen = result[32 * i + lane];
      const std::uint32_t expected =
          (members >> lane & 1) == 0 ? 0 : 0x100 | lowest | (lane == lowest ? std::uint32_t{1} << 16 : 0u);
      as_stated = as_stated && seen == expected;
      if (seen >> 16 != 0) elected += fmt::format(" {}", lane);
    }
    findings.check(as_stated,
                   fmt::format("{}: mask 0x{:08x}: elected lane{} (lowest: {})", label, masks[i], elected, lowest));
  }
}

void elect(Machine& machine, Findings& findings) {
  examine_masks(machine, findings, "all lanes live",
                {0xffffffff, 0xfffffffe, 0x80000000, 0x00010000, 0xaaaaaaaa, 0x000000f0, 0xffff0000, 0x7ffffffe,
                 0x80000001, 0x00000001, 0x0f0f0f00, 0x40000000},
                0);
  examine_masks(machine, findings, "lanes 0-2 exited", {0xffffffff, 0x0000000f}, 3);
}

void cluster_address(Machine& machine, Findings& findings) {
  constexpr std::uint32_t ctas = 4;
  Experiment experiment{.label = "cluster of 4",
                        .kernel = "cluster_address",
                        .constants = {{"CLUSTER", ctas}},
                        .ctas = ctas,
                        .threads = 32,
                        .shared_bytes = 1024};
  experiment.output_bytes = ctas * 32 * 4;
  const Result<Bytes> output = machine.run(experiment);
  if (!findings.ran(experiment.label, output)) return;
  const auto seen = values<std::uint32_t>(*output);
  for (std::uint32_t rank = 0; rank < ctas; ++rank) {
    const std::uint32_t* s = seen.data() + 32 * rank;
    findings.check(s[0] == (rank << 24 | 0x400),
                   fmt::format("rank {}: own address 0x{:08x}, expected rank << 24 | 0x400", rank, s[0]));
    bool mapped = s[1] == rank, read = true;
    std::string text;
    for (std::uint32_t r = 0; r < ctas; ++r) {
      mapped = mapped && s[2 + r] == (r << 24 | 0x400) && s[10 + r] == (r << 24 | 0x440);
      read = read && s[18 + r] == (0xc0de0000 | r);
      text += fmt::format(" 0x{:08x}", s[2 + r]);
    }
    findings.check(mapped, fmt::format("rank {}: mapa gives{}, expected r << 24 | offset", rank, text));
    findings.check(read, fmt::format("rank {}: loads from hand-made addresses see 0x{:08x} 0x{:08x} 0x{:08x} 0x{:08x}",
                                     rank, s[18], s[19], s[20], s[21]));
    findings.check(s[26] == rank << 24,
                   fmt::format("rank {}: generic address is 0x{:08x} above that of rank 0", rank, s[26]));
  }
}

void rankless_address(Machine& machine, Findings& findings) {
  Experiment experiment{.label = "cluster of 2",
                        .kernel = "rankless_address",
                        .constants = {{"CLUSTER", 2}},
                        .ctas = 2,
                        .threads = 32,
                        .shared_bytes = 1024};
  experiment.output_bytes = 8;
  const Result<Bytes> output = machine.run(experiment);
  if (!output) return findings.note("refused: " + output.error().text());
  const auto seen = values<std::uint32_t>(*output);
  findings.note(
      fmt::format("rank 0 read 0x{:08x}, rank 1 read 0x{:08x} (own data is 0xc0de0000 | rank)", seen[0], seen[1]));
}

Result<Bytes> run_cluster(Machine& machine, int ctas, bool non_portable) {
  Experiment experiment{.label = fmt::format("{} CTAs{}", ctas, non_portable ? ", allowed" : ""),
                        .kernel = "cluster_size",
                        .constants = {{"CLUSTER", ctas}},
                        .ctas = static_cast<std::uint32_t>(ctas),
                        .threads = 32};
  experiment.output_bytes = static_cast<std::size_t>(ctas) * 4;
  experiment.non_portable_cluster = non_portable;
  return machine.run(experiment);
}

void cluster_size(Machine& machine, Findings& findings) {
  const auto runs = [&](int ctas, bool non_portable) {
    const Result<Bytes> output = run_cluster(machine, ctas, non_portable);
    const bool whole =
        output.ok() && values<std::uint32_t>(*output) ==
                           std::vector<std::uint32_t>(static_cast<std::size_t>(ctas), static_cast<std::uint32_t>(ctas));
    findings.check(whole, fmt::format("{} CTAs{} run{}", ctas, non_portable ? " with the attribute" : "",
                                      output ? "" : ": " + output.error().text()));
  };
  runs(8, false);
  const Result<Bytes> refused = run_cluster(machine, 16, false);
  findings.check(!refused.ok(), "16 CTAs without the attribute are refused" +
                                    (refused ? ": they ran" : ": " + refused.error().text()));
  runs(16, true);
}

constexpr Fact facts[] = {
    {"elect", "elect.sync elects the lowest lane of its mask that has not exited", elect},
    {"cluster-address", "a shared::cluster address is rank << 24 | offset; a CTA's own addresses carry its rank",
     cluster_address},
    {"cluster-rankless", "record: ld.shared::cta at an own address without its rank bits", rankless_address,
     Emulator::silent, true},
    {"cluster-size", "8 CTAs are the largest portable cluster, 16 need the function attribute", cluster_size},
};

}  // namespace

std::span<const Fact> warp_and_cluster_facts() noexcept { return facts; }

}  // namespace mlaindex::hardware
