// Swizzled boxes in shared memory: what the XOR looks at, and where rows go that are shorter than the span.
#include "generator/base/format.h"
#include "tests/hardware/facts/copy_check.h"
#include "tests/hardware/facts/fact.h"
#include "tests/hardware/facts/tile_copy.h"

namespace mlaindex::hardware {
namespace {

constexpr std::uint32_t num_rows = 16;

TileCopy tile(TensorMapSwizzle mode, std::uint32_t row_bytes, std::uint32_t offset) {
  TileCopy copy{.label = fmt::format("span {}, rows of {} bytes, at 0x{:x}", swizzle_span(mode), row_bytes, offset),
                .map = {.rank = 2, .type = TensorMapType::u32, .swizzle = mode},
                .shared_offset = offset};
  copy.map.dims = {row_bytes / 4, num_rows};
  copy.map.strides = {row_bytes};
  copy.map.box = {row_bytes / 4, num_rows};
  return copy;
}

void absolute(Machine& machine, Findings& findings) {
  for (const TensorMapSwizzle mode : {TensorMapSwizzle::b128, TensorMapSwizzle::b64, TensorMapSwizzle::b32}) {
    for (std::uint32_t offset = 0; offset < 1024; offset += 128) {
      const TileCopy copy = tile(mode, swizzle_span(mode), offset);
      const Experiment experiment = load_experiment(copy, static_cast<std::uint32_t>(box_bytes(copy.map)), false);
      const Result<Bytes> output = machine.run(experiment);
      if (!findings.ran(copy.label, output)) continue;
      const auto dump = std::span(*output).subspan(tma_header_bytes);
      const std::string by_address = first_difference(dump, expected_load(copy, {}, experiment.input));
      const std::string by_offset = first_difference(dump, expected_load(copy, {.absolute = false}, experiment.input));
      findings.check(by_address == "equal",
                     fmt::format("{}: XOR of absolute bits: {}; XOR of offsets in the box: {}", copy.label, by_address,
                                 by_offset == "equal" ? "equal" : "different"));
    }
  }
}

// Loads of boxes whose rows are shorter than the span.
template <TensorMapSwizzle mode>
void pitch(Machine& machine, Findings& findings) {
  for (std::uint32_t row_bytes = 16; row_bytes < swizzle_span(mode); row_bytes += 16)
    for (const std::uint32_t offset : {0u, 0x80u}) examine_load(machine, findings, tile(mode, row_bytes, offset));
}

void stored(Machine& machine, Findings& findings) {
  for (const TensorMapSwizzle mode : {TensorMapSwizzle::b128, TensorMapSwizzle::b64, TensorMapSwizzle::b32})
    for (const std::uint32_t offset : {0u, 0x80u})
      examine_store(machine, findings, tile(mode, swizzle_span(mode) - 16, offset));
}

constexpr const char* short_rows = "rows shorter than the swizzle span lie one span apart; the box's own bytes count";

constexpr Fact facts[] = {
    {"swizzle", "TMA's swizzle is an XOR of absolute shared address bits", absolute},
    {"pitch-128", short_rows, pitch<TensorMapSwizzle::b128>},
    {"pitch-64", short_rows, pitch<TensorMapSwizzle::b64>},
    {"pitch-32", short_rows, pitch<TensorMapSwizzle::b32>},
    {"pitch-store", "open: whether stores read such rows one span apart too", stored, Emulator::refuses},
};

}  // namespace

std::span<const Fact> swizzle_facts() noexcept { return facts; }

}  // namespace mlaindex::hardware
