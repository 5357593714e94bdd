// Logic, shifts and bit fields.
#include <algorithm>

#include "emulator/lane_ops.h"

namespace mlaindex::emulator {
namespace {

struct And { template <class T> static T apply(T a, T b) { return a & b; } };
struct Or { template <class T> static T apply(T a, T b) { return a | b; } };
struct Xor { template <class T> static T apply(T a, T b) { return a ^ b; } };
struct Not { template <class T> static T apply(T a) { return static_cast<T>(~a); } };
struct Cnot { template <class T> static T apply(T a) { return a == 0 ? 1 : 0; } };

// Counts at or beyond the width shift everything out.
struct ShiftLeft {
  template <class T> static T apply(T a, std::uint32_t n) { return n >= sizeof(T) * 8 ? T{0} : static_cast<T>(std::uint64_t{a} << n); }
};
struct ShiftRight {
  template <class T> static T apply(T a, std::uint32_t n) {
    constexpr std::uint32_t bits = sizeof(T) * 8;
    if (n >= bits) return a < 0 ? static_cast<T>(-1) : T{0};
    return static_cast<T>(a >> n);
  }
};
struct FunnelSettings { bool left, wrap; };

Step funnel(Execution& x) {
  const auto s = x.in.settings<FunnelSettings>();
  const auto* a = x.source<std::uint32_t>(1);
  const auto* b = x.source<std::uint32_t>(2);
  const auto* c = x.source<std::uint32_t>(3);
  auto* d = x.destination<std::uint32_t>();
  for_lanes(x.mask, [=](unsigned l) {
    const std::uint64_t both = (std::uint64_t{b[l]} << 32) | a[l];
    const std::uint32_t n = s.wrap ? c[l] & 31 : std::min(c[l], 32u);
    d[l] = static_cast<std::uint32_t>(s.left ? (both << n) >> 32 : both >> n);
  });
  return Step::next;
}

struct Permute {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
    const std::uint64_t bytes = (std::uint64_t{b} << 32) | a;
    std::uint32_t out = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const std::uint32_t s = selector >> (4 * i);
      auto byte = static_cast<std::uint32_t>(bytes >> (8 * (s & 7))) & 0xFF;
      if (s & 8) byte = byte & 0x80 ? 0xFF : 0;  // the sign, replicated
      out |= byte << (8 * i);
    }
    return out;
  }
};

Step lop3(Execution& x) {
  const auto table = x.in.settings<std::uint32_t>();
  const auto* a = x.source<std::uint32_t>(1);
  const auto* b = x.source<std::uint32_t>(2);
  const auto* c = x.source<std::uint32_t>(3);
  auto* d = x.destination<std::uint32_t>();
  for_lanes(x.mask, [=](unsigned l) {
    std::uint32_t out = 0;
    for (unsigned i = 0; i < 8; ++i)
      if ((table >> i) & 1) out |= (i & 4 ? a[l] : ~a[l]) & (i & 2 ? b[l] : ~b[l]) & (i & 1 ? c[l] : ~c[l]);
    d[l] = out;
  });
  return Step::next;
}

template <class T>
struct Extract {
  static T apply(T a, std::uint32_t position, std::uint32_t length) {
    constexpr int bits = sizeof(T) * 8;
    const int pos = static_cast<int>(position & 0xFF), len = static_cast<int>(length & 0xFF);
    if (len == 0) return 0;
    const auto value = static_cast<std::make_unsigned_t<T>>(a);
    const int last = std::min(pos + len - 1, bits - 1);
    const bool sign = std::is_signed_v<T> && ((value >> last) & 1);
    T out = 0;
    for (int i = 0; i < bits; ++i) {
      const bool bit = i < len && pos + i < bits ? (value >> (pos + i)) & 1 : sign;
      out = static_cast<T>(static_cast<std::make_unsigned_t<T>>(out) | static_cast<std::make_unsigned_t<T>>(std::uint64_t{bit} << i));
    }
    return out;
  }
};

template <class T>
Step insert(Execution& x) {
  const T* a = x.source<T>(1);
  const T* b = x.source<T>(2);
  const auto* position = x.source<std::uint32_t>(3);
  const auto* length = x.source<std::uint32_t>(4);
  T* d = x.destination<T>();
  for_lanes(x.mask, [=](unsigned l) {
    constexpr std::uint32_t bits = sizeof(T) * 8;
    const std::uint32_t pos = position[l] & 0xFF, len = length[l] & 0xFF;
    T mask = 0;
    for (std::uint32_t i = pos; i < std::min(pos + len, bits); ++i) mask |= T{1} << i;
    d[l] = static_cast<T>((b[l] & ~mask) | (pos < bits ? (a[l] << pos) & mask : T{0}));
  });
  return Step::next;
}

struct Reverse {
  template <class T> static T apply(T a) {
    T out = 0;
    for (unsigned i = 0; i < sizeof(T) * 8; ++i) out |= ((a >> i) & 1) << (sizeof(T) * 8 - 1 - i);
    return out;
  }
};
struct CountLeading { template <class T> static std::uint32_t apply(T a) { return static_cast<std::uint32_t>(std::countl_zero(a)); } };
struct CountOnes { template <class T> static std::uint32_t apply(T a) { return static_cast<std::uint32_t>(std::popcount(a)); } };
template <class T>
struct FindLeading {
  static std::uint32_t apply(T a) {
    auto value = static_cast<std::make_unsigned_t<T>>(a);
    if (std::is_signed_v<T> && a < 0) value = static_cast<std::make_unsigned_t<T>>(~value);
    return value == 0 ? ~0u : static_cast<std::uint32_t>(std::bit_width(value) - 1);
  }
};
// How far the leading bit is from the top: what shifts it there.
template <class T>
struct ShiftOfLeading {
  static std::uint32_t apply(T a) {
    const std::uint32_t position = FindLeading<T>::apply(a);
    return position == ~0u ? ~0u : static_cast<std::uint32_t>(sizeof(T)) * 8 - 1 - position;
  }
};

// Predicates are masks of lanes.
template <class Op>
Step logic_on_predicates(Execution& x) {
  const LaneMask a = x.predicate(x.in.operands[1]), b = x.predicate(x.in.operands[2]);
  x.set_predicate(x.in.operands[0], Op::apply(a, b));
  return Step::next;
}
Step not_predicate(Execution& x) {
  x.set_predicate(x.in.operands[0], ~x.predicate(x.in.operands[1]));
  return Step::next;
}

template <class Op>
void logic(InstructionDecoder& d, ptx::ScalarType type) {
  if (type == ptx::ScalarType::pred) {
    for (std::size_t i = 0; i < 3; ++i) d.out().operands.push_back(d.predicate(i));
    return d.handler(logic_on_predicates<Op>);
  }
  for (std::size_t i = 0; i < 3; ++i) d.add(i, bytes_of(type));
  d.handler(by_width(bytes_of(type), []<class T>() -> Handler { return binary<Op, T, T>; }));
}

void shift(InstructionDecoder& d, ptx::ScalarType type) {
  const unsigned bytes = bytes_of(type);
  d.add(0, bytes);
  d.add(1, bytes);
  d.add(2, 4);
  if (d.name() == "shl")
    return d.handler(by_width(bytes, []<class T>() -> Handler { return binary<ShiftLeft, T, T, std::uint32_t>; }));
  if (is_signed(type))
    return d.handler(by_integer(type, []<class T>() -> Handler { return binary<ShiftRight, T, T, std::uint32_t>; }));
  d.handler(by_width(bytes, []<class T>() -> Handler { return binary<ShiftRight, T, T, std::uint32_t>; }));
}

void field(InstructionDecoder& d, ptx::ScalarType type) {
  const unsigned bytes = bytes_of(type);
  if (d.name() == "bfi") {
    for (std::size_t i = 0; i < 3; ++i) d.add(i, bytes);
    d.add(3, 4);
    d.add(4, 4);
    return d.handler(bytes == 8 ? insert<std::uint64_t> : insert<std::uint32_t>);
  }
  d.add(0, bytes);
  d.add(1, bytes);
  d.add(2, 4);
  d.add(3, 4);
  d.handler(by_integer(type, []<class T>() -> Handler { return ternary<Extract<T>, T, T, std::uint32_t, std::uint32_t>; }));
}

void count(InstructionDecoder& d, ptx::ScalarType type, bool as_shift) {
  const unsigned bytes = bytes_of(type);
  const bool same_width = d.name() == "brev";
  d.add(0, same_width ? bytes : 4);
  d.add(1, bytes);
  if (d.name() == "brev") d.handler(by_width(bytes, []<class T>() -> Handler { return unary<Reverse, T, T>; }));
  else if (d.name() == "clz") d.handler(by_width(bytes, []<class T>() -> Handler { return unary<CountLeading, std::uint32_t, T>; }));
  else if (d.name() == "popc") d.handler(by_width(bytes, []<class T>() -> Handler { return unary<CountOnes, std::uint32_t, T>; }));
  else if (as_shift) d.handler(by_integer(type, []<class T>() -> Handler { return unary<ShiftOfLeading<T>, std::uint32_t, T>; }));
  else d.handler(by_integer(type, []<class T>() -> Handler { return unary<FindLeading<T>, std::uint32_t, T>; }));
}

}  // namespace

bool decode_bits(InstructionDecoder& d) {
  const std::string_view n = d.name();
  static constexpr std::string_view known[] = {"and", "or", "xor", "not", "cnot", "shl", "shr", "shf", "prmt", "lop3",
                                               "bfe", "bfi", "brev", "clz", "popc", "bfind"};
  if (std::find(std::begin(known), std::end(known), n) == std::end(known)) return false;
  if (n == "shf") {
    const auto side = d.take_any({"l", "r"});
    const auto mode = d.take_any({"wrap", "clamp"});
    if (!side || !mode || !d.take("b32")) return true;
    for (std::size_t i = 0; i < 4; ++i) d.add(i, 4);
    d.out().set(FunnelSettings{*side == "l", *mode == "wrap"});
    d.handler(funnel);
    return true;
  }
  const bool as_shift = n == "bfind" && d.take("shiftamt");
  const auto type = d.take_type();
  if (!type) return true;
  if (n == "and") logic<And>(d, *type);
  else if (n == "or") logic<Or>(d, *type);
  else if (n == "xor") logic<Xor>(d, *type);
  else if (n == "not" && *type == ptx::ScalarType::pred) {
    d.out().operands = {d.predicate(0), d.predicate(1)};
    d.handler(not_predicate);
  } else if (n == "not" || n == "cnot") {
    d.add(0, bytes_of(*type));
    d.add(1, bytes_of(*type));
    if (n == "not") d.handler(by_width(bytes_of(*type), []<class T>() -> Handler { return unary<Not, T, T>; }));
    else d.handler(by_width(bytes_of(*type), []<class T>() -> Handler { return unary<Cnot, T, T>; }));
  } else if (n == "shl" || n == "shr") shift(d, *type);
  else if (n == "prmt") {
    for (std::size_t i = 0; i < 4; ++i) d.add(i, 4);
    d.handler(ternary<Permute, std::uint32_t, std::uint32_t>);
  } else if (n == "lop3") {
    for (std::size_t i = 0; i < 4; ++i) d.add(i, 4);
    const auto table = d.integer(4);
    if (!table) d.fail("the table must be an immediate");
    d.out().set(static_cast<std::uint32_t>(table.value_or(0)));
    d.handler(lop3);
  } else if (n == "bfe" || n == "bfi") field(d, *type);
  else count(d, *type, as_shift);
  return true;
}

}  // namespace mlaindex::emulator
