// Tensor copies at and over the edges of a tensor, and the alignment of their shared address.
#include "generator/base/format.h"
#include "tests/hardware/facts/copy_check.h"
#include "tests/hardware/facts/fact.h"
#include "tests/hardware/facts/tile_copy.h"

namespace mlaindex::hardware {
namespace {

// Five rows of bytes: those between rows belong to no element.
TensorMapParams bytes_map(std::uint64_t columns = 40, std::uint64_t stride = 48) {
  TensorMapParams map{.rank = 2};
  map.dims = {columns, 5};
  map.strides = {stride};
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

std::vector<TileCopy> copies(const char* label, const TensorMapParams& map, const Starts& starts) {
  std::vector<TileCopy> result;
  for (const auto& start : starts)
    result.push_back({.label = fmt::format("{} at {}", label, place(map, start)), .map = map, .start = start});
  return result;
}

void load_boxes(Machine& machine, Findings& findings, const char* label, const TensorMapParams& map,
                const Starts& starts) {
  for (const TileCopy& copy : copies(label, map, starts)) examine_load(machine, findings, copy);
}

void store_boxes(Machine& machine, Findings& findings, const char* label, const TensorMapParams& map,
                 const Starts& starts) {
  for (const TileCopy& copy : copies(label, map, starts)) examine_store(machine, findings, copy);
}

void refuse_stores(Machine& machine, Findings& findings, const char* label, const TensorMapParams& map,
                   const Starts& starts) {
  for (const TileCopy& copy : copies(label, map, starts)) examine_refusal(machine, findings, store_experiment(copy));
}

constexpr const char* narrow = "u8 40 x 5, box 32 x 8";
constexpr const char* wide = "u8 64 x 16, box 32 x 8";
constexpr const char* words = "u32 10, box 16";
constexpr const char* volume = "u8 32 x 3 x 3, box 16 x 2 x 4";

void fill(Machine& machine, Findings& findings) {
  load_boxes(machine, findings, narrow, bytes_map(),
             {{0, 0},    {16, 0},  {32, 3},  {48, 0}, {0, 100}, {96, 100}, {-16, 0}, {-32, 0},
              {-64, -8}, {0, -1}, {0, -2}, {0, -8}, {16, -1}, {-16, -2}});
  load_boxes(machine, findings, wide, wide_map(), {{16, 4}, {48, 12}, {-16, 4}, {16, -4}});
  load_boxes(machine, findings, words, words_map(), {{0}, {4}, {12}, {-4}, {-16}});
  load_boxes(machine, findings, volume, volume_map(), {{0, 0, 0}, {16, 2, 1}, {0, 0, -1}, {0, -1, 0}, {-16, -1, -1}});
}

void unaligned_load(Machine& machine, Findings& findings) {
  const auto refuse = [&](const char* label, const TensorMapParams& map, const Starts& starts) {
    for (const TileCopy& copy : copies(label, map, starts))
      examine_refusal(machine, findings, load_experiment(copy, static_cast<std::uint32_t>(box_bytes(map)), false));
  };
  refuse(narrow, bytes_map(), {{8, 0}, {1, 0}, {39, 4}, {100, 0}, {-8, 0}, {-1, 0}});
  refuse(wide, wide_map(), {{8, 4}, {-8, 4}});
  refuse(words, words_map(), {{1}, {2}, {-5}});
  refuse(volume, volume_map(), {{24, 2, 1}, {-15, 0, 0}});
}

void nan_fill(Machine& machine, Findings& findings) {
  load_boxes(machine, findings, "f32 9 x 3, zeros", floats_map(TensorMapType::f32, 9, 8, TensorMapFill::zeros), {{4, 1}});
  load_boxes(machine, findings, "f32 9 x 3, NaN", floats_map(TensorMapType::f32, 9, 8, TensorMapFill::nan),
             {{4, 1}, {-4, -1}});
}

void nan_fill_others(Machine& machine, Findings& findings) {
  const auto examine = [&](const char* label, TensorMapType type, std::uint64_t columns, std::uint32_t box) {
    const auto piece = static_cast<std::int32_t>(16 / element_bytes(type));
    load_boxes(machine, findings, label, floats_map(type, columns, box, TensorMapFill::nan), {{piece, 1}});
  };
  examine("f16 19 x 3", TensorMapType::f16, 19, 16);
  examine("bf16 19 x 3", TensorMapType::bf16, 19, 16);
  examine("f32.ftz 9 x 3", TensorMapType::f32_ftz, 9, 8);
  examine("tf32 9 x 3", TensorMapType::tf32, 9, 8);
  examine("f64 5 x 3", TensorMapType::f64, 5, 4);
}

void store(Machine& machine, Findings& findings) {
  store_boxes(machine, findings, narrow, bytes_map(),
              {{0, 0}, {16, 2}, {32, 0}, {32, 4}, {48, 0}, {96, 0}, {0, 100}});
  store_boxes(machine, findings, "u8 40 x 5, 64 apart, box 32 x 8", bytes_map(40, 64), {{16, 1}, {32, 0}});
  store_boxes(machine, findings, "u8 33 x 5, 64 apart, box 32 x 8", bytes_map(33, 64), {{16, 1}, {32, 0}});
  store_boxes(machine, findings, wide, wide_map(), {{16, 4}, {48, 12}});
  store_boxes(machine, findings, words, words_map(), {{0}, {4}, {8}, {48}});
  store_boxes(machine, findings, "f16 19 x 3, box 16 x 4", floats_map(TensorMapType::f16, 19, 16, TensorMapFill::zeros),
              {{8, 1}, {16, 0}});
  store_boxes(machine, findings, volume, volume_map(), {{16, 2, 1}});
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

void unaligned_store(Machine& machine, Findings& findings) {
  refuse_stores(machine, findings, narrow, bytes_map(), {{8, 0}, {1, 0}, {39, 4}, {100, 0}});
  refuse_stores(machine, findings, words, words_map(), {{3}, {50}});
  refuse_stores(machine, findings, volume, volume_map(), {{24, 2, 1}});
}

void negative_store(Machine& machine, Findings& findings) {
  refuse_stores(machine, findings, narrow, bytes_map(), {{-16, 0}, {-32, 0}, {0, -2}, {0, -8}});
  refuse_stores(machine, findings, wide, wide_map(), {{-16, 4}, {16, -4}});
  refuse_stores(machine, findings, words, words_map(), {{-4}});
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
    {"fill", "a box over any edge is filled and counted in full", fill},
    {"unaligned-load", "loads fault at starts that are no multiple of 16 bytes within a row", unaligned_load,
     Emulator::agrees, true},
    {"nan-fill", "NaN fill of f32 is 0x7ff77ff7", nan_fill},
    {"nan-fill-others", "open: whether other types get the same half-words", nan_fill_others, Emulator::refuses},
    {"store", "stores write the 16-byte pieces that begin inside the tensor, in full, and nothing else", store},
    {"unaligned-store", "stores fault at starts that are no multiple of 16 bytes within a row", unaligned_store,
     Emulator::agrees, true},
    {"negative-store", "stores fault at negative starts", negative_store, Emulator::agrees, true},
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
