// atom and red.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "emulator/lane_ops.h"
#include "emulator/memory_access.h"
#include "emulator/number_format.h"

namespace mlaindex::emulator {
namespace {

enum class AtomicOp : std::uint8_t { add, min, max, exch, cas, bit_and, bit_or, bit_xor, inc, dec };

struct AtomicSettings {
  AtomicOp op;
  Space space;
  bool returns;
};

template <class T>
T combine(AtomicOp op, T old, T b, T c) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case AtomicOp::add: return old + b;
      case AtomicOp::min: return std::min(old, b);
      case AtomicOp::max: return std::max(old, b);
      default: return b;
    }
  } else {
    switch (op) {
      case AtomicOp::add: return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) + static_cast<std::make_unsigned_t<T>>(b));
      case AtomicOp::min: return std::min(old, b);
      case AtomicOp::max: return std::max(old, b);
      case AtomicOp::exch: return b;
      case AtomicOp::cas: return old == b ? c : old;
      case AtomicOp::bit_and: return old & b;
      case AtomicOp::bit_or: return old | b;
      case AtomicOp::bit_xor: return old ^ b;
      case AtomicOp::inc: return old >= b ? T{0} : static_cast<T>(old + 1);
      case AtomicOp::dec: return old == 0 || old > b ? b : static_cast<T>(old - 1);
    }
    return b;
  }
}

template <class T>
Step atomic(Execution& x) {
  const auto s = x.in.settings<AtomicSettings>();
  x.require_written(x.in.addresses[0]);
  const T* b = x.source<T>(1);
  const T* c = x.given(2) ? x.source<T>(2) : b;
  T* d = s.returns && x.given(0) ? x.destination<T>() : nullptr;
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    const Location at = locate(x, s.space, x.address(x.in.addresses[0], l), l, sizeof(T), true);
    if (at.data == nullptr) return Step::fatal;
    note_read(x, at, sizeof(T));
    note_write(x, at, sizeof(T));
    // Kernels that share global state run on one host thread, so a plain update is atomic.
    T old;
    std::memcpy(&old, at.data, sizeof old);
    const T fresh = combine(s.op, old, b[l], c[l]);
    std::memcpy(at.data, &fresh, sizeof fresh);
    if (d != nullptr) d[l] = old;
  }
  ++x.cluster().changes;
  return Step::next;
}

}  // namespace

bool decode_atomic(InstructionDecoder& d) {
  if (d.name() != "atom" && d.name() != "red") return false;
  if (d.has("async")) return true;
  static constexpr std::pair<std::string_view, AtomicOp> names[] = {
      {"add", AtomicOp::add}, {"min", AtomicOp::min}, {"max", AtomicOp::max}, {"exch", AtomicOp::exch},
      {"cas", AtomicOp::cas}, {"and", AtomicOp::bit_and}, {"or", AtomicOp::bit_or}, {"xor", AtomicOp::bit_xor},
      {"inc", AtomicOp::inc}, {"dec", AtomicOp::dec}};
  AtomicSettings s{};
  bool found = false;
  for (const auto& [name, op] : names)
    if (!found && d.take(name)) { s.op = op; found = true; }
  s.space = d.take("global") ? Space::global : d.take("shared") || d.take("shared::cta") ? Space::shared
            : d.take("shared::cluster") ? Space::shared_cluster : Space::generic;
  d.ignore({"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys"});
  const auto type = d.take_type();
  if (!found || !type) { d.fail("this operation is not modelled"); return true; }
  s.returns = d.name() == "atom";
  const std::size_t first = s.returns ? 1 : 0;
  const unsigned bytes = bytes_of(*type);
  if (s.returns) d.add(0, bytes);
  else d.out().operands.push_back({.none = true});
  d.out().addresses.push_back(d.address(first));
  for (std::size_t i = first + 1; i < d.num_operands(); ++i) d.add(i, bytes, is_floating(*type));
  d.out().set(s);
  switch (*type) {
    case ptx::ScalarType::b32:
    case ptx::ScalarType::u32: d.handler(atomic<std::uint32_t>); break;
    case ptx::ScalarType::s32: d.handler(atomic<std::int32_t>); break;
    case ptx::ScalarType::b64:
    case ptx::ScalarType::u64: d.handler(atomic<std::uint64_t>); break;
    case ptx::ScalarType::s64: d.handler(atomic<std::int64_t>); break;
    case ptx::ScalarType::f32: d.handler(atomic<float>); break;
    case ptx::ScalarType::f64: d.handler(atomic<double>); break;
    default: d.fail("this type is not modelled");
  }
  return true;
}

}  // namespace mlaindex::emulator
