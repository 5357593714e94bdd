// mov in all its forms, and address conversion.
#include <algorithm>

#include "emulator/lane_ops.h"

namespace mlaindex::emulator {
namespace {

// Carries "never written" along: compilers copy undefined values that nobody uses in the end.
void copy_state(const Execution& x, const Operand& from, const Operand& to) {
  if (from.constant || from.slot < 0) return;
  const LaneMask known = x.warp.initialised(from.slot);
  x.warp.initialised(to.slot) = (x.warp.initialised(to.slot) & ~x.mask) | (known & x.mask);
}

bool missing(const Execution& x, const Operand& from) {
  return !from.constant && from.slot >= 0 && (x.mask & ~x.warp.initialised(from.slot)) != 0;
}

// A copy of a tcgen05.ld's result made before the wait is owed like the result itself.
bool copy_owed_load(const Execution& x, const Operand& from, const Operand& to) {
  for (TensorLoad& load : x.warp.tensor_loads)
    if (const LoadTargets::Target* target = load.find(from.slot)) {
      load.registers->targets.push_back({to.offset, to.slot, target->result});
      return true;
    }
  return false;
}

template <class T>
Step move(Execution& x) {
  const Operand& from = x.in.operands[1];
  const Operand& to = x.in.operands[0];
  // A value that a wgmma still owes must not be copied: that is a use.
  const bool unready = missing(x, from);
  const bool used = unready && !copy_owed_load(x, from, to) && (!x.warp.wgmma_open.empty() || !x.warp.wgmma_groups.empty());
  const T* a = used ? x.source<T>(from) : x.peek<T>(from);
  T* d = x.destination<T>();
  for_lanes(x.mask, [=](unsigned l) { d[l] = a[l]; });
  copy_state(x, from, to);
  return Step::next;
}

Step move_predicate(Execution& x) {
  x.set_predicate(x.in.operands[0], x.predicate(x.in.operands[1]));
  return Step::next;
}

// mov.b64 d, {a, b, ...}: the first element is the least significant.
Step pack(Execution& x) {
  const std::size_t parts = x.in.operands.size() - 1;
  const Operand& to = x.in.operands[0];
  const unsigned width = to.bytes, part = width / static_cast<unsigned>(parts);
  for (std::size_t p = 0; p < parts; ++p) (void)x.source<std::byte>(p + 1);
  std::byte* d = x.destination<std::byte>();
  for (std::size_t p = 0; p < parts; ++p) {
    const std::byte* a = x.peek<std::byte>(x.in.operands[p + 1]);
    for_lanes(x.mask, [=](unsigned l) { std::memcpy(d + l * width + p * part, a + l * part, part); });
  }
  return Step::next;
}

Step unpack(Execution& x) {
  const std::size_t parts = x.in.operands.size() - 1;
  const Operand& from = x.in.operands[parts];
  const unsigned width = from.bytes, part = width / static_cast<unsigned>(parts);
  const std::byte* a = x.source<std::byte>(from);
  for (std::size_t p = 0; p < parts; ++p) {
    if (x.in.operands[p].none) continue;
    std::byte* d = x.destination<std::byte>(p);
    for_lanes(x.mask, [=](unsigned l) { std::memcpy(d + l * part, a + l * width + p * part, part); });
  }
  return Step::next;
}

// Clocks count warp instructions of the cluster.
Step read_clock(Execution& x) {
  const auto special = x.in.settings<Special>();
  const bool high = special == Special::clock_hi || special == Special::globaltimer_hi;
  const std::uint64_t value = high ? x.now() >> 32 : x.now();
  const unsigned bytes = x.in.operands[0].bytes;
  std::byte* d = x.destination<std::byte>();
  for_lanes(x.mask, [=](unsigned l) { std::memcpy(d + l * bytes, &value, bytes); });
  return Step::next;
}

std::optional<Special> clock_name(const ptx::Operand& operand) {
  const auto* special = operand.as<ptx::SpecialRegister>();
  if (special == nullptr) return std::nullopt;
  if (special->name == "%clock") return Special::clock;
  if (special->name == "%clock_hi") return Special::clock_hi;
  if (special->name == "%clock64") return Special::clock64;
  if (special->name == "%globaltimer") return Special::globaltimer;
  if (special->name == "%globaltimer_lo") return Special::globaltimer_lo;
  if (special->name == "%globaltimer_hi") return Special::globaltimer_hi;
  return std::nullopt;
}

void decode_mov(InstructionDecoder& d) {
  const auto type = d.take_type();
  if (!type || d.num_operands() != 2) return;
  const ptx::Operand& to = d.source().operands[0];
  const ptx::Operand& from = d.source().operands[1];
  if (*type == ptx::ScalarType::pred) {
    d.out().operands = {d.predicate(0), d.predicate(1)};
    return d.handler(move_predicate);
  }
  const unsigned bytes = bytes_of(*type);
  if (const auto* list = from.as<ptx::OperandList>()) {
    d.add(0, bytes);
    for (const ptx::Operand& element : list->elements)
      d.out().operands.push_back(d.value(element, bytes / static_cast<unsigned>(list->elements.size())));
    return d.handler(pack);
  }
  if (const auto* list = to.as<ptx::OperandList>()) {
    for (const ptx::Operand& element : list->elements)
      d.out().operands.push_back(d.value(element, bytes / static_cast<unsigned>(list->elements.size())));
    d.add(1, bytes);
    return d.handler(unpack);
  }
  if (const auto clock = clock_name(from)) {
    d.add(0, bytes);
    d.out().set(*clock);
    return d.handler(read_clock);
  }
  d.add(0, bytes, is_floating(*type));
  d.add(1, bytes, is_floating(*type));
  if (bytes == 16) {
    struct Wide { std::uint64_t low, high; };
    return d.handler(move<Wide>);
  }
  d.handler(by_width(bytes, []<class T>() -> Handler { return move<T>; }));
}

// Generic addresses of a space lie in its window; global ones are unchanged.
struct WindowSettings {
  std::uint64_t window;
  bool to_space;
};

template <class T>
Step convert_address(Execution& x) {
  const auto s = x.in.settings<WindowSettings>();
  const T* a = x.source<T>(1);
  T* d = x.destination<T>();
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint64_t in = a[l];
    const std::uint64_t from = s.to_space ? s.window : 0;
    if (s.window != 0 && (in & kWindowMask) != from)
      return x.fault(FaultKind::out_of_bounds, "cvta: address " + std::to_string(in) + " is not one of the space it is converted from");
    d[l] = static_cast<T>(s.to_space ? in & ~s.window : in | s.window);
  }
  return Step::next;
}

void decode_cvta(InstructionDecoder& d) {
  const bool to = d.take("to");
  const auto space = d.take_any({"global", "shared", "shared::cta", "shared::cluster", "local", "param", "const"});
  const auto type = d.take_type();
  if (!space || !type || bytes_of(*type) != 8) return d.fail("64-bit address conversion of a known space is modelled");
  std::uint64_t window = 0;
  if (space->starts_with("shared")) window = kSharedWindow;
  if (*space == "local") window = kLocalWindow;
  if (*space == "param") window = kParamWindow;
  d.add(0, 8);
  d.add(1, 8);
  d.out().set(WindowSettings{window, to});
  d.handler(convert_address<std::uint64_t>);
}

Step is_space(Execution& x) {
  const auto window = x.in.settings<std::uint64_t>();
  const auto* a = x.source<std::uint64_t>(1);
  LaneMask out = 0;
  for (unsigned l = 0; l < kWarpSize; ++l) out |= static_cast<LaneMask>((a[l] & kWindowMask) == window) << l;
  x.set_predicate(x.in.operands[0], out);
  return Step::next;
}

}  // namespace

bool decode_move(InstructionDecoder& d) {
  if (d.name() == "mov") { decode_mov(d); return true; }
  if (d.name() == "cvta") { decode_cvta(d); return true; }
  if (d.name() == "isspacep") {
    const auto space = d.take_any({"global", "shared", "shared::cta", "shared::cluster", "local", "param"});
    if (!space) return true;
    const std::uint64_t window = space->starts_with("shared") ? kSharedWindow : *space == "local" ? kLocalWindow
                                 : *space == "param"          ? kParamWindow : 0;
    d.out().operands = {d.predicate(0), d.value(1, 8)};
    d.out().set(window);
    d.handler(is_space);
    return true;
  }
  return false;
}

}  // namespace mlaindex::emulator
