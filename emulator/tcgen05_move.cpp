// tcgen05.ld and tcgen05.st: tensor memory to registers and back.
#include <algorithm>
#include <charconv>

#include "emulator/lane_ops.h"
#include "emulator/tcgen05.h"

namespace mlaindex::emulator {
namespace {

enum class Shape : std::uint8_t { s32x32b, s16x64b, s16x128b, s16x256b, s16x32bx2 };

struct MoveSettings {
  Shape shape;
  bool packed;                 // .pack::16b or .unpack::16b
  std::uint16_t registers;
  std::int32_t second;         // 16x32bx2: column offset of the second half
};

struct Cell {
  std::uint32_t lane, column;
};

// Cell of register r of thread t, before packing.
constexpr Cell cell_of(const MoveSettings& s, std::uint32_t t, std::uint32_t r) {
  switch (s.shape) {
    case Shape::s32x32b: return {t, r};
    case Shape::s16x64b: return {8 * (t & 1) + (t >> 2), 2 * r + ((t >> 1) & 1)};
    case Shape::s16x128b: return {(t >> 2) + 8 * (r & 1), 4 * (r >> 1) + (t & 3)};
    case Shape::s16x256b: return {(t >> 2) + 8 * ((r >> 1) & 1), 8 * (r >> 2) + 2 * (t & 3) + (r & 1)};
    case Shape::s16x32bx2:
      return t < 16 ? Cell{t, r} : Cell{t - 16, static_cast<std::uint32_t>(s.second) + r};
  }
  return {};
}

constexpr std::uint32_t columns_of(const MoveSettings& s) {
  std::uint32_t columns = s.registers;
  switch (s.shape) {
    case Shape::s16x64b: columns *= 2; break;
    case Shape::s16x128b: columns *= 2; break;
    case Shape::s16x256b: columns *= 2; break;
    case Shape::s16x32bx2: columns += static_cast<std::uint32_t>(std::max(0, s.second)); break;
    default: break;
  }
  return s.packed ? 2 * columns : columns;
}

// Checks the address and gives the rectangle of cells; false after a fault.
bool region_of(Execution& x, const MoveSettings& s, TensorRegion& region) {
  const AddressOperand& operand = x.in.addresses[0];
  x.require_written(operand);
  const std::uint64_t address = x.address(operand, 0);
  for (unsigned l = 1; l < kWarpSize; ++l)
    if (x.address(operand, l) != address) {
      x.fault(FaultKind::aligned_divergence, "the tensor memory address differs between lanes");
      return false;
    }
  const auto column = static_cast<std::uint32_t>(address & 0xFFFF), lane = static_cast<std::uint32_t>(address >> 16) & 0xFFFF;
  const std::uint32_t quarter = 32 * (x.warp.index % 4), within = lane & 31;
  if ((lane & ~31u) != 0 && (lane & ~31u) != quarter) {
    x.fault(FaultKind::out_of_bounds, "warp " + std::to_string(x.warp.index) + " reaches lanes " + std::to_string(quarter) +
                                          " to " + std::to_string(quarter + 31) + ", but the address has lane " + std::to_string(lane));
    return false;
  }
  const bool wide = s.shape == Shape::s32x32b;
  if (wide ? within != 0 : within != 0 && within != 16) {
    x.fault(FaultKind::illegal_operand, "lane " + std::to_string(within) + " of the warp's quarter; " +
                                            (wide ? "0 is needed" : "0 and 16 are modelled for the 16-lane shapes"));
    return false;
  }
  region = {quarter + within, wide ? 32u : 16u, column, columns_of(s)};
  if (s.second < 0 || !x.cta().tensor.allocated(column, region.columns)) {
    x.fault(FaultKind::out_of_bounds, "tensor memory columns " + std::to_string(column) + " to " +
                                          std::to_string(column + region.columns - 1) + " are not in one allocation");
    return false;
  }
  return true;
}

// Fills registers, and copies that were made of them, and says which lanes came from written cells.
void read_cells(Warp& warp, const MoveSettings& s, const TensorRegion& region, LoadTargets& registers) {
  TensorMemory& tensor = warp.cta.tensor;
  for (std::uint32_t r = 0; r < s.registers; ++r) {
    auto* lanes = reinterpret_cast<std::uint32_t*>(warp.file() + registers.targets[r].offset);
    for (std::uint32_t t = 0; t < kWarpSize; ++t) {
      const Cell cell = cell_of(s, t, r);
      const std::uint32_t lane = region.first_lane + cell.lane;
      const std::uint32_t column = region.first_column + (s.packed ? 2 * cell.column : cell.column);
      const std::uint32_t* row = tensor.row(lane);
      const bool ready = tensor.initialised(lane, column) && (!s.packed || tensor.initialised(lane, column + 1));
      lanes[t] = s.packed ? (row[column] & 0xFFFF) | row[column + 1] << 16 : row[column];
      registers.written[r] |= static_cast<LaneMask>(ready) << t;
    }
  }
  for (std::size_t i = s.registers; i < registers.targets.size(); ++i) {
    const LoadTargets::Target& copy = registers.targets[i];
    std::memcpy(warp.file() + copy.offset, warp.file() + registers.targets[copy.result].offset, 4 * kWarpSize);
  }
}

Step load(Execution& x) {
  Step result{};
  if (!whole_warp(x, result)) return result;
  const auto s = x.in.settings<MoveSettings>();
  TensorRegion region;
  if (!region_of(x, s, region)) return Step::fatal;
  x.hazard(x.cta().tensor.begin_load(region, tensor_actor(x), x.warp.fence_after));
  TensorLoad load;
  load.region = region;
  load.line = x.in.line;
  load.registers = std::make_shared<LoadTargets>();
  load.registers->written.resize(s.registers);
  for (std::uint32_t r = 0; r < s.registers; ++r) {
    const Operand& o = x.in.operands[r];
    load.registers->targets.push_back({o.offset, o.slot, r});
    x.warp.initialised(o.slot) = 0;
    x.warp.written_at(o.slot) = x.now();
  }
  AsyncOperation op = x.operation("tcgen05.ld");
  op.complete = [s, region, registers = load.registers, warp = &x.warp] { read_cells(*warp, s, region, *registers); };
  load.operation = x.cluster().async.add(std::move(op));
  x.warp.tensor_loads.push_back(std::move(load));
  return Step::next;
}

Step store(Execution& x) {
  Step result{};
  if (!whole_warp(x, result)) return result;
  const auto s = x.in.settings<MoveSettings>();
  TensorRegion region;
  if (!region_of(x, s, region)) return Step::fatal;
  const Actor who = tensor_actor(x);
  x.hazard(x.cta().tensor.begin_write(region, TensorWriter::store, who, x.warp.fence_after, x.cta().fence_before));
  std::vector<std::uint32_t> values;
  for (std::size_t r = 0; r < s.registers; ++r) {
    const auto* lanes = x.source<std::uint32_t>(r);
    values.insert(values.end(), lanes, lanes + kWarpSize);
  }
  AsyncOperation op = x.operation("tcgen05.st");
  op.complete = [s, region, who, values = std::move(values), warp = &x.warp] {
    TensorMemory& tensor = warp->cta.tensor;
    for (std::uint32_t t = 0; t < kWarpSize; ++t)
      for (std::uint32_t r = 0; r < s.registers; ++r) {
        const Cell cell = cell_of(s, t, r);
        const std::uint32_t lane = region.first_lane + cell.lane;
        const std::uint32_t column = region.first_column + (s.packed ? 2 * cell.column : cell.column);
        const std::uint32_t value = values[r * kWarpSize + t];
        tensor.row(lane)[column] = s.packed ? value & 0xFFFF : value;
        if (s.packed) tensor.row(lane)[column + 1] = value >> 16;
        tensor.set_initialised(lane, column, s.packed ? 2 : 1);
      }
    Actor done = who;
    done.now = warp->cta.cluster.now;
    tensor.end_write(region, TensorWriter::store, done);
  };
  x.warp.tensor_stores.push_back(x.cluster().async.add(std::move(op)));
  return Step::next;
}

void decode_move_form(InstructionDecoder& d, bool is_load) {
  MoveSettings s{};
  static constexpr std::pair<std::string_view, Shape> shapes[] = {
      {"32x32b", Shape::s32x32b}, {"16x64b", Shape::s16x64b}, {"16x128b", Shape::s16x128b},
      {"16x256b", Shape::s16x256b}, {"16x32bx2", Shape::s16x32bx2}};
  bool found = false;
  for (const auto& [name, shape] : shapes)
    if (!found && d.take(name)) { s.shape = shape; found = true; }
  if (!found) return d.fail("the shape is not modelled");
  s.packed = d.take(is_load ? "pack::16b" : "unpack::16b");
  d.ignore({"sync", "aligned", "b32"});
  const auto repeat = d.take_prefix("x");
  std::uint32_t count = 0;
  if (!repeat || std::from_chars(repeat->data() + 1, repeat->data() + repeat->size(), count).ec != std::errc{})
    return d.fail("the repeat count is missing");
  const std::uint32_t factor = s.shape == Shape::s16x128b ? 2 : s.shape == Shape::s16x256b ? 4 : 1;
  s.registers = static_cast<std::uint16_t>(count * factor);
  const bool two = s.shape == Shape::s16x32bx2;
  if (two) {
    const auto second = d.integer(is_load ? 2 : 1);
    if (!second || *second < 0 || *second >= 512) return d.fail("16x32bx2 needs a column offset of 0 to 511");
    s.second = static_cast<std::int32_t>(*second);
  }
  const auto registers = d.elements(is_load ? 0 : two ? 2 : 1);
  if (registers.size() != s.registers || s.registers == 0 || s.registers > 128)
    return d.fail(std::to_string(registers.size()) + " registers where the shape has " + std::to_string(s.registers));
  for (const ptx::Operand* r : registers) d.out().operands.push_back(d.value(*r, 4));
  for (const Operand& o : d.out().operands)
    if (o.slot < 0 && is_load) return d.fail("the results must be registers");
  d.out().addresses.push_back(d.address(is_load ? 1 : 0));
  d.out().set(s);
  d.handler(is_load ? load : store);
}

}  // namespace

void decode_tcgen05_load(InstructionDecoder& d) { decode_move_form(d, true); }
void decode_tcgen05_store(InstructionDecoder& d) { decode_move_form(d, false); }

}  // namespace mlaindex::emulator
