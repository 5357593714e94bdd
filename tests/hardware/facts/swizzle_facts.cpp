// Swizzled boxes in shared memory: what the XOR looks at, and where rows go that are shorter than the span.
#include <algorithm>

#include <fmt/format.h>

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

// For each row, where its 16-byte pieces were found, as offsets from the box's start in bytes.
std::string places(std::span<const std::byte> dump, const Bytes& tensor, std::uint32_t row, std::uint32_t row_bytes,
                   std::uint32_t start) {
  std::string text;
  for (std::uint32_t piece = 0; piece < row_bytes; piece += 16) {
    const auto* from = tensor.data() + row * row_bytes + piece;
    std::string at = "?";
    for (std::size_t i = 0; i + 16 <= dump.size(); i += 16)
      if (std::equal(from, from + 16, dump.data() + i))
        at = std::to_string(static_cast<std::int64_t>(i) - std::int64_t{start});
    text += " " + at;
  }
  return text;
}

// The candidates that the dump agrees with.
std::string layouts(const TileCopy& copy, const Bytes& tensor, std::span<const std::byte> dump) {
  std::string text;
  for (const std::uint32_t pitch : {box_row_bytes(copy.map), swizzle_span(copy.map.swizzle)})
    for (const bool by_address : {true, false})
      if (first_difference(dump, expected_load(copy, {.row_pitch = pitch, .absolute = by_address}, tensor)) == "equal")
        text += fmt::format(" [pitch {}, XOR of {}]", pitch, by_address ? "absolute bits" : "offsets in the box");
  return text;
}

void examine_pitch(Machine& machine, Findings& findings, TensorMapSwizzle mode, std::uint32_t row_bytes,
                   std::uint32_t offset) {
  TileCopy copy = tile(mode, row_bytes, offset);
  const std::string what = copy.label;
  std::string counted = "neither count completes the phase", layout;
  // What the barrier counts is open as well: the box's own bytes, or whole spans.
  for (const std::uint32_t expected : {row_bytes * num_rows, swizzle_span(mode) * num_rows}) {
    copy.label = fmt::format("{}, {} bytes expected", what, expected);
    const Experiment experiment = load_experiment(copy, expected, false);
    const Result<Bytes> output = machine.run(experiment);
    if (!findings.ran(copy.label, output)) return;
    const auto dump = std::span(*output).subspan(tma_header_bytes);
    layout = layouts(copy, experiment.input, dump);
    if (layout.empty())
      for (std::uint32_t row = 0; row < num_rows; ++row)
        findings.note(
            fmt::format("{}: row {}:{}", copy.label, row, places(dump, experiment.input, row, row_bytes, offset)));
    if (values<std::uint32_t>(std::span(*output).first(tma_header_bytes))[2] == 0) continue;
    counted = fmt::format("{} bytes complete the phase", expected);
    break;
  }
  findings.check(!layout.empty(),
                 fmt::format("{}: {}; layout:{}", what, counted, layout.empty() ? " none of the expected" : layout));
}

template <TensorMapSwizzle mode>
void pitch(Machine& machine, Findings& findings) {
  for (std::uint32_t row_bytes = 16; row_bytes < swizzle_span(mode); row_bytes += 16)
    for (const std::uint32_t offset : {0u, 0x80u}) examine_pitch(machine, findings, mode, row_bytes, offset);
}

constexpr const char* short_rows = "rows shorter than the swizzle span lie dense or one span apart";

constexpr Fact facts[] = {
    {"swizzle", "TMA's swizzle is an XOR of absolute shared address bits", absolute},
    {"pitch-128", short_rows, pitch<TensorMapSwizzle::b128>, Emulator::refuses},
    {"pitch-64", short_rows, pitch<TensorMapSwizzle::b64>, Emulator::refuses},
    {"pitch-32", short_rows, pitch<TensorMapSwizzle::b32>, Emulator::refuses},
};

}  // namespace

std::span<const Fact> swizzle_facts() noexcept { return facts; }

}  // namespace mlaindex::hardware
