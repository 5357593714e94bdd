// Tensor copies at and over the edges of a tensor, and the alignment of their shared address.
#include <fmt/format.h>

#include "tests/hardware/facts/fact.h"
#include "tests/hardware/facts/tile_copy.h"

namespace mlaindex::hardware {
namespace {

// Rows of 40 bytes, 48 apart: bytes between rows belong to no element.
TensorMapParams bytes_map() {
  TensorMapParams map{.rank = 2};
  map.dims = {40, 5};
  map.strides = {48};
  map.box = {32, 8};
  return map;
}

TensorMapParams floats_map(TensorMapType type, std::uint64_t columns, std::uint32_t box_columns, TensorMapFill fill) {
  TensorMapParams map{.rank = 2, .type = type, .fill = fill};
  map.dims = {columns, 3};
  map.strides = {48};
  map.box = {box_columns, 4};
  return map;
}

TensorMapParams words_map() {
  TensorMapParams map{.rank = 1, .type = TensorMapType::u32};
  map.dims = {10};
  map.box = {16};
  return map;
}

TensorMapParams volume_map() {
  TensorMapParams map{.rank = 3};
  map.dims = {32, 3, 3};
  map.strides = {32, 96};
  map.box = {16, 2, 4};
  return map;
}

void examine_load(Machine& machine, Findings& findings, const TileCopy& copy) {
  const auto bytes = static_cast<std::uint32_t>(box_bytes(copy.map));
  const Experiment experiment = load_experiment(copy, bytes, true);
  const Result<Bytes> output = machine.run(experiment);
  if (!findings.check(output.ok(), fmt::format("{}: {}", copy.label, output ? "ran" : output.error().text()))) return;
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

void fill(Machine& machine, Findings& findings) {
  for (const auto& start :
       {std::array{0, 0, 0}, {-8, -2, 0}, {32, 3, 0}, {100, 100, 0}, {-32, -8, 0}, {-31, 4, 0}, {39, -7, 0}})
    examine_load(machine, findings,
                 {.label = fmt::format("u8 40 x 5, box 32 x 8 at ({}, {})", start[0], start[1]),
                  .map = bytes_map(),
                  .start = start});
  for (const int x : {0, -5, 9, 50})
    examine_load(machine, findings,
                 {.label = fmt::format("u32 10, box 16 at {}", x), .map = words_map(), .start = {x}});
  for (const auto& start : {std::array{-15, -1, -1}, {24, 2, 1}})
    examine_load(machine, findings,
                 {.label = fmt::format("u8 32 x 3 x 3, box 16 x 2 x 4 at ({}, {}, {})", start[0], start[1], start[2]),
                  .map = volume_map(),
                  .start = start});
}

void nan_fill(Machine& machine, Findings& findings) {
  const auto examine = [&](const char* label, TensorMapType type, std::uint64_t columns, std::uint32_t box,
                           TensorMapFill fill) {
    examine_load(machine, findings, {.label = label, .map = floats_map(type, columns, box, fill), .start = {-3, -1}});
  };
  examine("f32 9 x 3, zeros", TensorMapType::f32, 9, 8, TensorMapFill::zeros);
  examine("f32 9 x 3, NaN", TensorMapType::f32, 9, 8, TensorMapFill::nan);
  examine("f16 20 x 3, NaN", TensorMapType::f16, 20, 16, TensorMapFill::nan);
  examine("bf16 20 x 3, NaN", TensorMapType::bf16, 20, 16, TensorMapFill::nan);
}

void examine_store(Machine& machine, Findings& findings, const TileCopy& copy) {
  const Result<Bytes> output = machine.run(store_experiment(copy));
  if (!findings.check(output.ok(), fmt::format("{}: {}", copy.label, output ? "ran" : output.error().text()))) return;
  const std::string difference = first_difference(*output, expected_store(copy, {}));
  findings.check(difference == "equal", copy.label + ": tensor " + difference);
}

void store(Machine& machine, Findings& findings) {
  for (const auto& start : {std::array{0, 0, 0}, {16, 2, 0}, {39, 4, 0}, {100, 0, 0}, {0, 100, 0}})
    examine_store(machine, findings,
                  {.label = fmt::format("u8 40 x 5, box 32 x 8 to ({}, {})", start[0], start[1]),
                   .map = bytes_map(),
                   .start = start});
  examine_store(machine, findings, {.label = "u32 10, box 16 to 3", .map = words_map(), .start = {3}});
  examine_store(machine, findings,
                {.label = "u8 32 x 3 x 3, box 16 x 2 x 4 to (24, 2, 1)", .map = volume_map(), .start = {24, 2, 1}});
  TileCopy swizzled{.label = "swizzle 128B at 0x280, 32 x 16 words to (8, 4)",
                    .map = words_map(),
                    .start = {8, 4},
                    .shared_offset = 0x280};
  swizzled.map.rank = 2;
  swizzled.map.dims = {36, 16};
  swizzled.map.strides = {144};
  swizzled.map.box = {32, 16};
  swizzled.map.swizzle = TensorMapSwizzle::b128;
  examine_store(machine, findings, swizzled);
}

void negative_store(Machine& machine, Findings& findings) {
  for (const auto& start : {std::array{-8, 0, 0}, {0, -2, 0}, {-8, -2, 0}, {-32, 0, 0}})
    examine_store(machine, findings,
                  {.label = fmt::format("u8 40 x 5, box 32 x 8 to ({}, {})", start[0], start[1]),
                   .map = bytes_map(),
                   .start = start});
}

// Whether a copy at a shared offset runs, and is right.
template <std::uint32_t offset, bool store>
void alignment(Machine& machine, Findings& findings) {
  TileCopy copy{.label = fmt::format("{} at a shared address of 1024 n + {}", store ? "store" : "load", offset),
                .map = bytes_map(),
                .shared_offset = offset};
  Experiment experiment =
      store ? store_experiment(copy) : load_experiment(copy, static_cast<std::uint32_t>(box_bytes(copy.map)), false);
  const Result<Bytes> output = machine.run(experiment);
  std::string seen = "refused: " + (output ? std::string() : output.error().text());
  if (output) {
    seen = "ran: " + (store ? "tensor " + first_difference(*output, expected_store(copy, {}))
                            : "contents " + first_difference(std::span(*output).subspan(tma_header_bytes),
                                                             expected_load(copy, {}, experiment.input)));
  }
  findings.check(output.ok() == (offset % 128 == 0), copy.label + " " + seen);
}

constexpr const char* aligned = "tensor copies need a shared address of 128 n; others fault";

constexpr Fact facts[] = {
    {"fill", "a box over the edge is filled and counted in full; start coordinates may be negative", fill},
    {"nan-fill", "NaN fill is 0x7fffffff, 0x7fff (f16, bf16)", nan_fill},
    {"store", "stores write what lies inside the tensor and nothing else", store},
    {"negative-store", "stores clip at negative coordinates too", negative_store, Emulator::refuses, true},
    {"load-128", aligned, alignment<128, false>},
    {"load-64", aligned, alignment<64, false>, Emulator::agrees, true},
    {"load-16", aligned, alignment<16, false>, Emulator::agrees, true},
    {"store-128", aligned, alignment<128, true>},
    {"store-64", aligned, alignment<64, true>, Emulator::agrees, true},
    {"store-16", aligned, alignment<16, true>, Emulator::agrees, true},
};

}  // namespace

std::span<const Fact> copy_facts() noexcept { return facts; }

}  // namespace mlaindex::hardware
