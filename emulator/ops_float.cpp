// f32, f64 and packed f32x2 arithmetic.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>

#include "emulator/lane_ops.h"
#include "emulator/vector_clones.h"

namespace mlaindex::emulator {
namespace {

struct FloatSettings {
  int rounding;       // FE_TONEAREST, ...
  bool flush, saturate, keep_nan, absolute, xor_sign, relu;
};

float flushed(float a) { return std::fabs(a) < std::numeric_limits<float>::min() ? std::copysign(0.0f, a) : a; }
double flushed(double a) { return a; }
template <class T>
T saturated(T a) { return a >= T{1} ? T{1} : a > T{0} ? a : T{0}; }  // NaN becomes 0
template <class T>
T canonical(T a) {
  if constexpr (sizeof(T) == 4) return std::isnan(a) ? std::bit_cast<float>(0x7FFFFFFFu) : a;
  else return a;
}

// The host rounds to nearest; other modes hold for one instruction.
class RoundingScope {
 public:
  explicit RoundingScope(int mode) : change_(mode != FE_TONEAREST) { if (change_) std::fesetround(mode); }
  ~RoundingScope() { if (change_) std::fesetround(FE_TONEAREST); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  bool change_;
};

struct Add { template <class T> static T apply(T a, T b) { return a + b; } };
struct Sub { template <class T> static T apply(T a, T b) { return a - b; } };
struct Mul { template <class T> static T apply(T a, T b) { return a * b; } };
struct Div { template <class T> static T apply(T a, T b) { return a / b; } };
struct Fma { template <class T> static T apply(T a, T b, T c) { return std::fma(a, b, c); } };
struct Sqrt { template <class T> static T apply(T a) { return std::sqrt(a); } };
struct Rcp { template <class T> static T apply(T a) { return T{1} / a; } };
struct Rsqrt { template <class T> static T apply(T a) { return T{1} / std::sqrt(a); } };
struct Sin { template <class T> static T apply(T a) { return std::sin(a); } };
struct Cos { template <class T> static T apply(T a) { return std::cos(a); } };
struct Exp2 { template <class T> static T apply(T a) { return std::exp2(a); } };
struct Log2 { template <class T> static T apply(T a) { return std::log2(a); } };
struct Tanh { template <class T> static T apply(T a) { return std::tanh(a); } };
struct Neg { template <class T> static T apply(T a) { return -a; } };
struct Abs { template <class T> static T apply(T a) { return std::fabs(a); } };

// PTX: a NaN operand is dropped, and +0 is more than -0.
template <class T>
T larger(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
template <class T>
T smaller(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

MLAINDEX_VECTOR_CLONES
void fma_all(const float* a, const float* b, const float* c, float* d, unsigned count) {
  for (unsigned i = 0; i < count; ++i) d[i] = std::fma(a[i], b[i], c[i]);
}

template <class T, class Op, int Arity>
Step general(Execution& x) {
  const auto s = x.in.settings<FloatSettings>();
  const T* a = x.source<T>(1);
  const T* b = Arity > 1 ? x.source<T>(2) : a;
  const T* c = Arity > 2 ? x.source<T>(3) : a;
  T* d = x.destination<T>();
  const RoundingScope scope(s.rounding);
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    const T p = s.flush ? flushed(a[l]) : a[l];
    const T q = s.flush ? flushed(b[l]) : b[l];
    const T r = s.flush ? flushed(c[l]) : c[l];
    volatile T result;  // keeps the operation inside the rounding scope
    if constexpr (Arity == 1) result = Op::apply(p);
    else if constexpr (Arity == 2) result = Op::apply(p, q);
    else result = Op::apply(p, q, r);
    T out = s.flush ? flushed(T{result}) : T{result};
    if (s.saturate) out = saturated(out);
    if (s.relu) out = larger(out, T{0});
    d[l] = canonical(out);
  }
  return Step::next;
}

// The common case, round to nearest without modifiers, as a loop that vectorises.
template <class T, class Op>
Step plain_binary(Execution& x) {
  const T* a = x.source<T>(1);
  const T* b = x.source<T>(2);
  T* d = x.destination<T>();
  for_lanes(x.mask, [=](unsigned l) { d[l] = canonical(Op::apply(a[l], b[l])); });
  return Step::next;
}

Step plain_fma(Execution& x) {
  const float* a = x.source<float>(1);
  const float* b = x.source<float>(2);
  const float* c = x.source<float>(3);
  float* d = x.destination<float>();
  if (x.mask == kAllLanes) {
    fma_all(a, b, c, d, kWarpSize);
    for_lanes(x.mask, [=](unsigned l) { d[l] = canonical(d[l]); });
  } else {
    for_lanes(x.mask, [=](unsigned l) { d[l] = canonical(std::fma(a[l], b[l], c[l])); });
  }
  return Step::next;
}

// f32x2: two independent lanes' worth of f32 in a 64-bit register.
template <class Op, int Arity>
Step packed(Execution& x) {
  const auto s = x.in.settings<FloatSettings>();
  const float* a = x.source<float>(1);
  const float* b = x.source<float>(2);
  const float* c = Arity > 2 ? x.source<float>(3) : a;
  float* d = x.destination<float>();
  if (s.rounding == FE_TONEAREST && !s.flush && x.mask == kAllLanes) {
    if constexpr (Arity > 2) fma_all(a, b, c, d, 2 * kWarpSize);
#ifndef __clang__
#pragma GCC ivdep
#endif
    for (unsigned i = 0; i < 2 * kWarpSize; ++i) {
      if constexpr (Arity > 2) d[i] = canonical(d[i]);
      else d[i] = canonical(Op::apply(a[i], b[i]));
    }
    return Step::next;
  }
  const RoundingScope scope(s.rounding);
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    for (unsigned i = 2 * l; i < 2 * l + 2; ++i) {
      const float p = s.flush ? flushed(a[i]) : a[i];
      const float q = s.flush ? flushed(b[i]) : b[i];
      volatile float result;
      if constexpr (Arity > 2) result = Op::apply(p, q, s.flush ? flushed(c[i]) : c[i]);
      else result = Op::apply(p, q);
      d[i] = canonical(s.flush ? flushed(float{result}) : float{result});
    }
  }
  return Step::next;
}

template <class T, bool Largest>
Step select_extreme(Execution& x) {
  const auto s = x.in.settings<FloatSettings>();
  const T* a = x.source<T>(1);
  const T* b = x.source<T>(2);
  const T* c = x.given(3) ? x.source<T>(3) : nullptr;
  T* d = x.destination<T>();
  const auto pick = [&](T p, T q) {
    if (s.keep_nan && (std::isnan(p) || std::isnan(q))) return std::numeric_limits<T>::quiet_NaN();
    if (s.flush) { p = flushed(p); q = flushed(q); }
    const T sign = s.xor_sign ? std::copysign(T{1}, p) * std::copysign(T{1}, q) : T{1};
    if (s.absolute) { p = std::fabs(p); q = std::fabs(q); }
    const T out = Largest ? larger(p, q) : smaller(p, q);
    return s.xor_sign ? std::copysign(out, sign) : out;
  };
  for_lanes(x.mask, [&](unsigned l) {
    T out = pick(a[l], b[l]);
    if (c != nullptr) out = pick(out, c[l]);
    d[l] = canonical(out);
  });
  return Step::next;
}

// max.f32 and min.f32 without modifiers.
template <bool Largest>
Step plain_extreme(Execution& x) {
  const float* a = x.source<float>(1);
  const float* b = x.source<float>(2);
  float* d = x.destination<float>();
  for_lanes(x.mask, [=](unsigned l) {
    const float p = a[l], q = b[l];
    const bool equal_pick = std::signbit(p) == Largest;
    const bool take_q = (p != p) | (Largest ? p < q : q < p) | ((p == q) & equal_pick);
    const float out = take_q ? q : p;
    d[l] = canonical(out);
  });
  return Step::next;
}

template <class T, class Op>
Step sign_op(Execution& x) {  // neg and abs keep NaN payloads
  const T* a = x.source<T>(1);
  T* d = x.destination<T>();
  for_lanes(x.mask, [=](unsigned l) { d[l] = Op::apply(a[l]); });
  return Step::next;
}

struct CopySign { template <class T> static T apply(T a, T b) { return std::copysign(b, a); } };

FloatSettings take_settings(InstructionDecoder& d) {
  FloatSettings s{FE_TONEAREST, false, false, false, false, false, false};
  if (d.take("rz")) s.rounding = FE_TOWARDZERO;
  if (d.take("rm")) s.rounding = FE_DOWNWARD;
  if (d.take("rp")) s.rounding = FE_UPWARD;
  d.ignore({"rn", "approx", "full"});  // approximations are computed to the last bit here
  s.flush = d.take("ftz");
  s.saturate = d.take("sat");
  return s;
}

template <class Op>
void arithmetic(InstructionDecoder& d, unsigned bytes, std::size_t arity, const FloatSettings& s) {
  for (std::size_t i = 0; i <= arity; ++i) d.add(i, bytes, true);
  d.out().set(s);
  const bool plain = s.rounding == FE_TONEAREST && !s.flush && !s.saturate;
  if constexpr (std::is_same_v<Op, Fma>) {
    d.handler(bytes == 8 ? general<double, Op, 3> : plain ? plain_fma : general<float, Op, 3>);
  } else if constexpr (std::is_same_v<Op, Add> || std::is_same_v<Op, Sub> || std::is_same_v<Op, Mul> || std::is_same_v<Op, Div>) {
    d.handler(bytes == 8 ? (plain ? plain_binary<double, Op> : general<double, Op, 2>)
                         : (plain ? plain_binary<float, Op> : general<float, Op, 2>));
  } else {
    d.handler(bytes == 8 ? general<double, Op, 1> : general<float, Op, 1>);
  }
}

void extreme(InstructionDecoder& d, unsigned bytes) {
  FloatSettings s{FE_TONEAREST, d.take("ftz"), false, d.take("NaN"), false, false, false};
  s.xor_sign = d.take("xorsign");
  s.absolute = d.take("abs") || s.xor_sign;
  for (std::size_t i = 0; i < d.num_operands(); ++i) d.add(i, bytes, true);
  d.out().set(s);
  const bool largest = d.name() == "max";
  if (bytes == 8) return d.handler(largest ? select_extreme<double, true> : select_extreme<double, false>);
  const bool plain = !s.flush && !s.keep_nan && !s.absolute && d.num_operands() == 3;
  if (plain) return d.handler(largest ? plain_extreme<true> : plain_extreme<false>);
  d.handler(largest ? select_extreme<float, true> : select_extreme<float, false>);
}

void packed_form(InstructionDecoder& d) {
  const FloatSettings s = take_settings(d);
  if (s.saturate) return d.fail(".sat does not exist for f32x2");
  const std::size_t arity = d.name() == "fma" ? 3 : 2;
  for (std::size_t i = 0; i <= arity; ++i) d.add(i, 8);
  d.out().set(s);
  if (d.name() == "add") d.handler(packed<Add, 2>);
  else if (d.name() == "sub") d.handler(packed<Sub, 2>);
  else if (d.name() == "mul") d.handler(packed<Mul, 2>);
  else if (d.name() == "fma") d.handler(packed<Fma, 3>);
}

}  // namespace

bool decode_float(InstructionDecoder& d) {
  const std::string_view n = d.name();
  static constexpr std::string_view known[] = {"add", "sub", "mul", "div", "fma", "mad", "min", "max", "neg", "abs", "sqrt",
                                               "rcp", "rsqrt", "sin", "cos", "ex2", "lg2", "tanh", "copysign"};
  if (std::find(std::begin(known), std::end(known), n) == std::end(known)) return false;
  if (d.has("f16") || d.has("bf16") || d.has("f16x2") || d.has("bf16x2")) return false;
  if (d.take_prefix("f32x2")) { packed_form(d); return true; }
  const bool wide = d.has("f64");
  if (!wide && !d.has("f32")) return false;
  (void)d.take_type();
  const unsigned bytes = wide ? 8 : 4;
  if (n == "min" || n == "max") { extreme(d, bytes); return true; }
  const FloatSettings s = take_settings(d);
  if (n == "add") arithmetic<Add>(d, bytes, 2, s);
  else if (n == "sub") arithmetic<Sub>(d, bytes, 2, s);
  else if (n == "mul") arithmetic<Mul>(d, bytes, 2, s);
  else if (n == "div") arithmetic<Div>(d, bytes, 2, s);
  else if (n == "fma" || n == "mad") arithmetic<Fma>(d, bytes, 3, s);
  else if (n == "sqrt") arithmetic<Sqrt>(d, bytes, 1, s);
  else if (n == "rcp") arithmetic<Rcp>(d, bytes, 1, s);
  else if (n == "rsqrt") arithmetic<Rsqrt>(d, bytes, 1, s);
  else if (n == "sin") arithmetic<Sin>(d, bytes, 1, s);
  else if (n == "cos") arithmetic<Cos>(d, bytes, 1, s);
  else if (n == "ex2") arithmetic<Exp2>(d, bytes, 1, s);
  else if (n == "lg2") arithmetic<Log2>(d, bytes, 1, s);
  else if (n == "tanh") arithmetic<Tanh>(d, bytes, 1, s);
  else if (n == "neg" || n == "abs") {
    d.add(0, bytes, true);
    d.add(1, bytes, true);
    if (s.flush) { d.out().set(s); d.handler(n == "neg" ? general<float, Neg, 1> : general<float, Abs, 1>); }
    else if (n == "neg") d.handler(wide ? sign_op<double, Neg> : sign_op<float, Neg>);
    else d.handler(wide ? sign_op<double, Abs> : sign_op<float, Abs>);
  } else {
    for (std::size_t i = 0; i < 3; ++i) d.add(i, bytes, true);
    d.handler(wide ? plain_binary<double, CopySign> : plain_binary<float, CopySign>);
  }
  return true;
}

}  // namespace mlaindex::emulator
