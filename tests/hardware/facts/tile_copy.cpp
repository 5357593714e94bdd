#include "tests/hardware/facts/tile_copy.h"

#include <algorithm>

#include "generator/base/format.h"

namespace mlaindex::hardware {
namespace {

std::size_t tensor_bytes(const TensorMapParams& map) {
  const std::uint64_t outermost =
      map.rank == 1 ? map.dims[0] * element_bytes(map.type) : map.dims[map.rank - 1] * map.strides[map.rank - 2];
  return static_cast<std::size_t>((outermost + 15) / 16 * 16);
}

std::uint32_t fill_pattern(const TensorMapParams& map) { return map.fill == TensorMapFill::zeros ? 0 : 0x7ff77ff7; }

std::uint32_t swizzled(std::uint32_t offset, TensorMapSwizzle mode) {
  switch (mode) {
    case TensorMapSwizzle::b32:
      return offset ^ (offset >> 3 & 0x10);
    case TensorMapSwizzle::b64:
      return offset ^ (offset >> 3 & 0x30);
    case TensorMapSwizzle::b128:
      return offset ^ (offset >> 3 & 0x70);
    default:
      return offset;
  }
}

// Calls visit(offset in the tensor or -1 outside it, offset in shared memory) for every byte of the box. The tensor's
// rows end at a multiple of `row_unit` bytes.
template <class F>
void for_bytes(const TileCopy& copy, const BoxLayout& layout, std::uint32_t row_unit, F visit) {
  const TensorMapParams& map = copy.map;
  const std::uint32_t element = element_bytes(map.type);
  const std::uint32_t pitch = layout.row_pitch != 0 ? layout.row_pitch : std::max(swizzle_span(map.swizzle), box_row_bytes(map));
  const std::uint64_t row_end = (map.dims[0] * element + row_unit - 1) / row_unit * row_unit;
  std::array<std::int64_t, 3> box{1, 1, 1};
  for (std::uint32_t d = 0; d < map.rank; ++d) box[d] = map.box[d];
  for (std::int64_t i2 = 0; i2 < box[2]; ++i2)
    for (std::int64_t i1 = 0; i1 < box[1]; ++i1)
      for (std::int64_t i0 = 0; i0 < box[0]; ++i0) {
        const std::int64_t x[] = {copy.start[0] + i0, copy.start[1] + i1, copy.start[2] + i2};
        std::int64_t source = x[0] * element;
        bool inside = x[0] >= 0 && source < static_cast<std::int64_t>(row_end);
        for (std::uint32_t d = 1; d < map.rank; ++d) {
          inside = inside && x[d] >= 0 && x[d] < static_cast<std::int64_t>(map.dims[d]);
          source += x[d] * static_cast<std::int64_t>(map.strides[d - 1]);
        }
        for (std::uint32_t byte = 0; byte < element; ++byte) {
          const auto offset =
              static_cast<std::uint32_t>(i2 * box[1] + i1) * pitch + static_cast<std::uint32_t>(i0) * element + byte;
          const std::uint32_t place = layout.absolute ? swizzled(copy.shared_offset + offset, map.swizzle)
                                                      : copy.shared_offset + swizzled(offset, map.swizzle);
          visit(inside ? source + byte : -1, place);
        }
      }
}

std::vector<std::int32_t> settings_of(const TileCopy& copy) {
  return {static_cast<std::int32_t>(copy.map.rank), copy.start[0], copy.start[1], copy.start[2],
          static_cast<std::int32_t>(copy.shared_offset)};
}

}  // namespace

std::uint32_t box_row_bytes(const TensorMapParams& map) noexcept { return map.box[0] * element_bytes(map.type); }

std::uint32_t swizzle_span(TensorMapSwizzle mode) noexcept {
  switch (mode) {
    case TensorMapSwizzle::b32:
      return 32;
    case TensorMapSwizzle::b64:
      return 64;
    case TensorMapSwizzle::b128:
      return 128;
    default:
      return 0;
  }
}

Bytes tensor_of(const TensorMapParams& map) {
  std::vector<std::uint32_t> words(tensor_bytes(map) / 4);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = 0x40010000u + static_cast<std::uint32_t>(i);
  return bytes_of(words);
}

Experiment load_experiment(const TileCopy& copy, std::uint32_t expected_bytes, bool surplus) {
  Experiment experiment{.label = copy.label, .kernel = "tma_load", .shared_bytes = 16384 + 128};
  experiment.settings = settings_of(copy);
  experiment.settings.insert(experiment.settings.end(), {static_cast<std::int32_t>(expected_bytes),
                                                         static_cast<std::int32_t>(copy.dump_bytes), surplus ? 1 : 0});
  experiment.input = tensor_of(copy.map);
  experiment.output_bytes = tma_header_bytes + copy.dump_bytes;
  experiment.map = copy.map;
  return experiment;
}

Bytes expected_load(const TileCopy& copy, const BoxLayout& layout, const Bytes& tensor) {
  Bytes dump(copy.dump_bytes, static_cast<std::byte>(untouched_word));
  const std::uint32_t fill = fill_pattern(copy.map);
  for_bytes(copy, layout, 1, [&](std::int64_t from, std::uint32_t to) {
    if (to >= dump.size()) return;
    dump[to] = from >= 0 ? tensor[static_cast<std::size_t>(from)] : static_cast<std::byte>(fill >> 8 * (to % 4));
  });
  return dump;
}

Experiment store_experiment(const TileCopy& copy) {
  Experiment experiment{.label = copy.label, .kernel = "tma_store", .shared_bytes = 16384};
  experiment.settings = settings_of(copy);
  experiment.settings.push_back(static_cast<std::int32_t>(copy.dump_bytes));
  experiment.output_bytes = tensor_bytes(copy.map);
  experiment.map = copy.map;
  experiment.map_over_output = true;
  return experiment;
}

Bytes expected_store(const TileCopy& copy, const BoxLayout& layout) {
  Bytes tensor(tensor_bytes(copy.map));
  for_bytes(copy, layout, 16, [&](std::int64_t to, std::uint32_t from) {
    if (to >= 0) tensor[static_cast<std::size_t>(to)] = static_cast<std::byte>(1 + from % 251);
  });
  return tensor;
}

std::string first_difference(std::span<const std::byte> seen, std::span<const std::byte> expected) {
  if (seen.size() != expected.size()) return fmt::format("{} bytes instead of {}", seen.size(), expected.size());
  std::size_t count = 0, first = 0;
  for (std::size_t i = seen.size(); i-- > 0;) {
    if (seen[i] == expected[i]) continue;
    ++count;
    first = i;
  }
  if (count == 0) return "equal";
  std::string text = fmt::format("{} of {} bytes differ, the first at {}:", count, seen.size(), first);
  const std::size_t end = std::min(first / 16 * 16 + 16, seen.size());
  for (std::size_t i = first / 16 * 16; i < end; ++i) text += fmt::format(" {:02x}", static_cast<unsigned>(seen[i]));
  text += " instead of";
  for (std::size_t i = first / 16 * 16; i < end; ++i)
    text += fmt::format(" {:02x}", static_cast<unsigned>(expected[i]));
  return text;
}

}  // namespace mlaindex::hardware
