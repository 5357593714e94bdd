// Tensor copies at and over the edges of a tensor, and the alignment of their shared address.
#include <fmt/format.h>

#include "tests/hardware/facts/copy_check.h"
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

// Wider and taller than its box, and without bytes that belong to no element.
TensorMapParams wide_map() {
  TensorMapParams map{.rank = 2};
  map.dims = {64, 16};
  map.strides = {64};
  map.box = {32, 8};
  return map;
}

// A box's start, as a label says it.
std::string place(const TensorMapParams& map, const std::array<std::int32_t, 3>& start) {
  std::string text = fmt::format("({}", start[0]);
  for (std::uint32_t d = 1; d < map.rank; ++d) text += fmt::format(", {}", start[d]);
  return text + ")";
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

using Starts = std::vector<std::array<std::int32_t, 3>>;

void load_boxes(Machine& machine, Findings& findings, const char* label, const TensorMapParams& map,
                const Starts& starts) {
  for (const auto& start : starts)
    examine_load(machine, findings,
                 {.label = fmt::format("{} at {}", label, place(map, start)), .map = map, .start = start});
}

void fill(Machine& machine, Findings& findings) {
  load_boxes(machine, findings, "u8 40 x 5, box 32 x 8", bytes_map(),
             {{0, 0}, {16, 0}, {8, 0}, {1, 0}, {32, 3}, {39, 4}, {48, 0}, {100, 0}, {0, 100}, {96, 100}});
  load_boxes(machine, findings, "u8 64 x 16, box 32 x 8", wide_map(), {{16, 4}, {8, 4}, {40, 4}, {48, 12}});
  load_boxes(machine, findings, "u32 10, box 16", words_map(), {{0}, {4}, {1}, {9}, {12}, {50}});
  load_boxes(machine, findings, "u8 32 x 3 x 3, box 16 x 2 x 4", volume_map(), {{0, 0, 0}, {16, 2, 1}, {24, 2, 1}});
}

void fill_negative(Machine& machine, Findings& findings) {
  load_boxes(machine, findings, "u8 40 x 5, box 32 x 8", bytes_map(),
             {{-16, 0}, {-32, 0}, {-8, 0}, {-1, 0}, {-31, 4}, {0, -1}, {0, -2}, {0, -8}, {16, -1}, {-16, -2}, {-8, -2}});
  load_boxes(machine, findings, "u8 64 x 16, box 32 x 8", wide_map(), {{-16, 4}, {-8, 4}, {16, -4}, {-64, 0}});
  load_boxes(machine, findings, "u32 10, box 16", words_map(), {{-4}, {-1}, {-5}, {-16}});
  load_boxes(machine, findings, "u8 32 x 3 x 3, box 16 x 2 x 4", volume_map(),
             {{0, 0, -1}, {0, -1, 0}, {-15, 0, 0}, {-15, -1, -1}});
}

void nan_fill(Machine& machine, Findings& findings) {
  const auto examine = [&](const char* label, TensorMapType type, std::uint64_t columns, std::uint32_t box,
                           TensorMapFill fill) {
    load_boxes(machine, findings, label, floats_map(type, columns, box, fill), {{4, 1}, {-3, -1}});
  };
  examine("f32 9 x 3, zeros,", TensorMapType::f32, 9, 8, TensorMapFill::zeros);
  examine("f32 9 x 3, NaN,", TensorMapType::f32, 9, 8, TensorMapFill::nan);
  examine("f16 20 x 3, NaN,", TensorMapType::f16, 20, 16, TensorMapFill::nan);
  examine("bf16 20 x 3, NaN,", TensorMapType::bf16, 20, 16, TensorMapFill::nan);
}

void store_boxes(Machine& machine, Findings& findings, const char* label, const TensorMapParams& map,
                 const Starts& starts) {
  for (const auto& start : starts)
    examine_store(machine, findings,
                  {.label = fmt::format("{} to {}", label, place(map, start)), .map = map, .start = start});
}

void store(Machine& machine, Findings& findings) {
  store_boxes(machine, findings, "u8 40 x 5, box 32 x 8", bytes_map(),
              {{0, 0}, {16, 2}, {8, 0}, {1, 0}, {39, 4}, {48, 0}, {100, 0}, {0, 100}});
  store_boxes(machine, findings, "u8 64 x 16, box 32 x 8", wide_map(), {{16, 4}, {8, 4}, {48, 12}});
  store_boxes(machine, findings, "u32 10, box 16", words_map(), {{0}, {4}, {3}, {50}});
  store_boxes(machine, findings, "u8 32 x 3 x 3, box 16 x 2 x 4", volume_map(), {{16, 2, 1}, {24, 2, 1}});
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
  store_boxes(machine, findings, "u8 40 x 5, box 32 x 8", bytes_map(),
              {{-16, 0}, {-8, 0}, {-1, 0}, {-32, 0}, {0, -2}, {0, -8}, {-8, -2}});
  store_boxes(machine, findings, "u8 64 x 16, box 32 x 8", wide_map(), {{-16, 4}, {-8, 4}, {16, -4}});
  store_boxes(machine, findings, "u32 10, box 16", words_map(), {{-4}, {-1}});
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
    {"fill", "a box over the far edges is filled and counted in full", fill, Emulator::agrees, true},
    {"negative-fill", "so is a box over the near edges", fill_negative, Emulator::agrees, true},
    {"nan-fill", "NaN fill is 0x7fffffff, 0x7fff (f16, bf16)", nan_fill, Emulator::agrees, true},
    {"store", "stores write what lies inside the tensor and nothing else", store, Emulator::agrees, true},
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
