// Integer arithmetic.
#include <limits>

#include "emulator/lane_ops.h"

namespace mlaindex::emulator {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
struct WideOf;
template <> struct WideOf<std::uint16_t> { using type = std::uint32_t; };
template <> struct WideOf<std::int16_t> { using type = std::int32_t; };
template <> struct WideOf<std::uint32_t> { using type = std::uint64_t; };
template <> struct WideOf<std::int32_t> { using type = std::int64_t; };
__extension__ using Unsigned128 = unsigned __int128;
__extension__ using Signed128 = __int128;
template <> struct WideOf<std::uint64_t> { using type = Unsigned128; };
template <> struct WideOf<std::int64_t> { using type = Signed128; };
template <class T>
using Wide = typename WideOf<T>::type;

// Wrapping arithmetic in an unsigned type of at least 32 bits, so that promotion cannot overflow.
template <class T>
using Modular = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

struct Add {
  template <class T> static T apply(T a, T b) { return static_cast<T>(static_cast<Modular<T>>(a) + static_cast<Modular<T>>(b)); }
};
struct Sub {
  template <class T> static T apply(T a, T b) { return static_cast<T>(static_cast<Modular<T>>(a) - static_cast<Modular<T>>(b)); }
};
struct MulLow {
  template <class T> static T apply(T a, T b) { return static_cast<T>(static_cast<Modular<T>>(a) * static_cast<Modular<T>>(b)); }
};
struct MulHigh {
  template <class T> static T apply(T a, T b) {
    return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (sizeof(T) * 8));
  }
};
struct MulWide {
  template <class T> static Wide<T> apply(T a, T b) { return static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b); }
};
struct MadLow {
  template <class T> static T apply(T a, T b, T c) { return Add::apply(MulLow::apply(a, b), c); }
};
struct MadHigh {
  template <class T> static T apply(T a, T b, T c) { return Add::apply(MulHigh::apply(a, b), c); }
};
template <class T>
struct MadWide {
  static Wide<T> apply(T a, T b, Wide<T> c) { return Add::apply(MulWide::apply(a, b), c); }
};
struct Mul24 {
  template <class T> static T cut(T a) { return static_cast<T>(static_cast<T>(static_cast<Unsigned<T>>(a) << 8) >> 8); }
  template <class T> static T apply(T a, T b) { return MulLow::apply(cut(a), cut(b)); }
};
// Division by zero and overflow give all ones and the dividend, not a host trap.
struct Div {
  template <class T> static T apply(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) if (b == -1) return Sub::apply(T{0}, a);
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T> static T apply(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) if (b == -1) return 0;
    return static_cast<T>(a % b);
  }
};
struct Min {
  template <class T> static T apply(T a, T b) { return a < b ? a : b; }
};
struct Max {
  template <class T> static T apply(T a, T b) { return a > b ? a : b; }
};
struct Neg {
  template <class T> static T apply(T a) { return Sub::apply(T{0}, a); }
};
struct Abs {
  template <class T> static T apply(T a) { return a < 0 ? Neg::apply(a) : a; }
};
struct Sad {
  template <class T> static T apply(T a, T b, T c) { return Add::apply(c, a < b ? Sub::apply(b, a) : Sub::apply(a, b)); }
};
struct AddSat {
  static std::int32_t apply(std::int32_t a, std::int32_t b) {
    const std::int64_t sum = std::int64_t{a} + b;
    return static_cast<std::int32_t>(std::min<std::int64_t>(std::max<std::int64_t>(sum, INT32_MIN), INT32_MAX));
  }
};
struct SubSat {
  static std::int32_t apply(std::int32_t a, std::int32_t b) {
    const std::int64_t sum = std::int64_t{a} - b;
    return static_cast<std::int32_t>(std::min<std::int64_t>(std::max<std::int64_t>(sum, INT32_MIN), INT32_MAX));
  }
};

// add.cc, addc, sub.cc, subc: the carry flag is one bit a lane.
struct CarrySettings {
  bool subtract, carry_in, carry_out;
};

template <class T>
Step with_carry(Execution& x) {
  const auto s = x.in.settings<CarrySettings>();
  const T* a = x.source<T>(1);
  const T* b = x.source<T>(2);
  T* d = x.destination<T>();
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    const T in = s.carry_in ? (x.warp.carry >> l) & 1 : 0;
    const T left = a[l];
    const T right = b[l];
    const T first = s.subtract ? left - right : left + right;
    bool out = s.subtract ? left < right : first < left;
    const T second = s.subtract ? first - in : first + in;
    out = out || (s.subtract ? first < in : second < first);
    d[l] = second;
    if (s.carry_out) x.warp.carry = (x.warp.carry & ~(LaneMask{1} << l)) | (static_cast<LaneMask>(out) << l);
  }
  return Step::next;
}

bool decode_carry(InstructionDecoder& d) {
  const std::string_view n = d.name();
  const bool out = d.take("cc");
  if (!out && n != "addc" && n != "subc") return false;
  const auto type = d.take_type();
  if (!type) return true;
  d.out().set(CarrySettings{n == "sub" || n == "subc", n == "addc" || n == "subc", out});
  for (std::size_t i = 0; i < 3; ++i) d.add(i, bytes_of(*type));
  d.handler(bytes_of(*type) == 8 ? with_carry<std::uint64_t> : with_carry<std::uint32_t>);
  return true;
}

template <class Op>
void two(InstructionDecoder& d, ptx::ScalarType type) {
  for (std::size_t i = 0; i < 3; ++i) d.add(i, bytes_of(type));
  d.handler(by_integer(type, []<class T>() -> Handler { return binary<Op, T, T>; }));
}

template <class Op>
void three(InstructionDecoder& d, ptx::ScalarType type) {
  for (std::size_t i = 0; i < 4; ++i) d.add(i, bytes_of(type));
  d.handler(by_integer(type, []<class T>() -> Handler { return ternary<Op, T, T, T, T>; }));
}

template <class Op>
void one(InstructionDecoder& d, ptx::ScalarType type) {
  for (std::size_t i = 0; i < 2; ++i) d.add(i, bytes_of(type));
  d.handler(by_integer(type, []<class T>() -> Handler { return unary<Op, T, T>; }));
}

void multiply(InstructionDecoder& d, ptx::ScalarType type, bool add) {
  const auto form = d.take_any({"lo", "hi", "wide"});
  if (!form) return d.fail("one of .lo, .hi and .wide is needed");
  const unsigned bytes = bytes_of(type);
  const unsigned result = *form == "wide" ? 2 * bytes : bytes;
  if (result > 8) return d.fail(".wide of a 64-bit type");
  d.add(0, result);
  d.add(1, bytes);
  d.add(2, bytes);
  if (add) d.add(3, result);
  if (*form == "lo")
    d.handler(by_integer(type, [add]<class T>() -> Handler { return add ? ternary<MadLow, T, T, T, T> : binary<MulLow, T, T>; }));
  else if (*form == "hi")
    d.handler(by_integer(type, [add]<class T>() -> Handler { return add ? ternary<MadHigh, T, T, T, T> : binary<MulHigh, T, T>; }));
  else
    d.handler(by_integer(type, [add]<class T>() -> Handler {
      if constexpr (sizeof(T) == 8) return nullptr;
      else return add ? ternary<MadWide<T>, Wide<T>, T, T, Wide<T>> : binary<MulWide, Wide<T>, T>;
    }));
}

bool integer_type(const InstructionDecoder& d) {
  for (const std::string_view m : d.modifiers())
    for (const std::string_view t : {"u16", "s16", "u32", "s32", "u64", "s64"})
      if (m == t) return true;
  return false;
}

}  // namespace

bool decode_integer(InstructionDecoder& d) {
  const std::string_view n = d.name();
  static constexpr std::string_view known[] = {"add", "sub", "mul", "mad", "mul24", "mad24", "div", "rem", "min", "max",
                                               "neg", "abs", "sad", "addc", "subc"};
  if (std::find(std::begin(known), std::end(known), n) == std::end(known) || !integer_type(d)) return false;
  if ((n == "add" || n == "sub" || n == "addc" || n == "subc") && decode_carry(d)) return true;
  const ptx::ScalarType type = *d.take_type();
  if ((n == "add" || n == "sub") && type == ptx::ScalarType::s32 && d.take("sat")) {
    for (std::size_t i = 0; i < 3; ++i) d.add(i, 4);
    d.handler(n == "add" ? binary<AddSat, std::int32_t, std::int32_t> : binary<SubSat, std::int32_t, std::int32_t>);
  } else if (n == "add") two<Add>(d, type);
  else if (n == "sub") two<Sub>(d, type);
  else if (n == "mul" || n == "mad") multiply(d, type, n == "mad");
  else if (n == "mul24" && d.take("lo")) {
    for (std::size_t i = 0; i < 3; ++i) d.add(i, 4);
    d.handler(is_signed(type) ? binary<Mul24, std::int32_t, std::int32_t> : binary<Mul24, std::uint32_t, std::uint32_t>);
  } else if (n == "div") two<Div>(d, type);
  else if (n == "rem") two<Rem>(d, type);
  else if (n == "min") two<Min>(d, type);
  else if (n == "max") two<Max>(d, type);
  else if (n == "neg") one<Neg>(d, type);
  else if (n == "abs") one<Abs>(d, type);
  else if (n == "sad") three<Sad>(d, type);
  return true;
}

}  // namespace mlaindex::emulator
