// cvt: between integers and floating-point formats.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>

#include "emulator/lane_ops.h"
#include "emulator/number_format.h"

namespace mlaindex::emulator {
namespace {

struct ConvertSettings {
  ptx::ScalarType to, from;
  int rounding;        // of the host
  bool to_integral;    // .rni and its kin
  bool saturate, flush, relu, toward_zero, satfinite;
  std::uint8_t to_bytes, from_bytes;  // of the registers
};

std::uint64_t load_lane(const std::byte* file, unsigned lane, unsigned bytes) {
  std::uint64_t out = 0;
  std::memcpy(&out, file + lane * bytes, bytes);
  return out;
}

std::int64_t sign_extended(std::uint64_t bits, unsigned width) {
  const unsigned shift = 64 - width;
  return static_cast<std::int64_t>(bits << shift) >> shift;
}

bool is_integer(ptx::ScalarType t) {
  return (t >= ptx::ScalarType::u8 && t <= ptx::ScalarType::s64) || (t >= ptx::ScalarType::b8 && t <= ptx::ScalarType::b64);
}

double as_double(std::uint64_t bits, ptx::ScalarType type) {
  switch (type) {
    case ptx::ScalarType::f32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case ptx::ScalarType::f64: return std::bit_cast<double>(bits);
    case ptx::ScalarType::f16: return f16_to_f32(static_cast<std::uint16_t>(bits));
    case ptx::ScalarType::bf16: return bf16_to_f32(static_cast<std::uint16_t>(bits));
    default: return 0;
  }
}

std::uint64_t float_to_integer(double value, const ConvertSettings& s) {
  const unsigned width = ptx::bit_width(s.to);
  if (std::isnan(value)) return is_signed(s.to) || width < 64 ? (width == 64 ? std::uint64_t{1} << 63 : 0) : std::uint64_t{1} << 63;
  const double whole = std::nearbyint(value);
  if (is_signed(s.to)) {
    const double least = -std::ldexp(1.0, static_cast<int>(width) - 1), most = -least;
    if (whole < least) return static_cast<std::uint64_t>(std::int64_t{-1} << (width - 1));
    if (whole >= most) return (std::uint64_t{1} << (width - 1)) - 1;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(whole));
  }
  if (whole < 0) return 0;
  if (whole >= std::ldexp(1.0, static_cast<int>(width))) return width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  return static_cast<std::uint64_t>(whole);
}

std::uint64_t integer_to_integer(std::uint64_t bits, const ConvertSettings& s) {
  const unsigned from = ptx::bit_width(s.from), to = ptx::bit_width(s.to);
  const bool negative = is_signed(s.from) && sign_extended(bits, from) < 0;
  std::uint64_t value = is_signed(s.from) ? static_cast<std::uint64_t>(sign_extended(bits, from))
                        : from == 64      ? bits
                                          : bits & ((std::uint64_t{1} << from) - 1);
  if (s.saturate) {
    if (is_signed(s.to)) {
      const std::int64_t most = to == 64 ? INT64_MAX : (std::int64_t{1} << (to - 1)) - 1;
      if (negative) value = static_cast<std::uint64_t>(std::max(static_cast<std::int64_t>(value), -most - 1));
      else value = std::min(value, static_cast<std::uint64_t>(most));
    } else {
      const std::uint64_t most = to == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << to) - 1;
      value = negative ? 0 : std::min(value, most);
    }
  }
  return value;
}

std::uint64_t to_float(double value, const ConvertSettings& s) {
  if (s.to_integral) value = std::nearbyint(value);
  if (s.relu) value = std::isnan(value) ? value : value > 0 ? value : 0.0;
  if (s.saturate) value = value >= 1 ? 1 : value > 0 ? value : 0;
  const Rounding rounding = s.toward_zero ? Rounding::toward_zero : Rounding::nearest_even;
  switch (s.to) {
    case ptx::ScalarType::f64: return std::bit_cast<std::uint64_t>(value);
    case ptx::ScalarType::f32: {
      volatile double in = value;
      const float out = static_cast<float>(in);
      return std::isnan(out) ? 0x7FFFFFFFu : std::bit_cast<std::uint32_t>(out);
    }
    case ptx::ScalarType::f16: return f32_to_f16(static_cast<float>(value), rounding, s.satfinite);
    case ptx::ScalarType::bf16: return f32_to_bf16(static_cast<float>(value), rounding, s.satfinite);
    default: return 0;
  }
}

Step convert(Execution& x) {
  const auto s = x.in.settings<ConvertSettings>();
  const std::byte* a = x.source<std::byte>(1);
  std::byte* d = x.destination<std::byte>();
  if (s.rounding != FE_TONEAREST) std::fesetround(s.rounding);
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint64_t in = load_lane(a, l, s.from_bytes);
    std::uint64_t out;
    if (is_integer(s.from)) {
      out = is_integer(s.to) ? integer_to_integer(in, s) : 0;
      if (!is_integer(s.to)) {
        const unsigned width = ptx::bit_width(s.from);
        // The host's integer-to-float conversion rounds once, in the current mode.
        if (s.to == ptx::ScalarType::f32) {
          volatile std::int64_t signed_in = sign_extended(in, width);
          volatile std::uint64_t unsigned_in = width == 64 ? in : in & ((std::uint64_t{1} << width) - 1);
          const float f = is_signed(s.from) ? static_cast<float>(signed_in) : static_cast<float>(unsigned_in);
          out = std::bit_cast<std::uint32_t>(f);
        } else {
          out = to_float(is_signed(s.from) ? static_cast<double>(sign_extended(in, width)) : static_cast<double>(in), s);
        }
      }
    } else {
      double value = as_double(in, s.from);
      if (s.flush && std::fabs(value) < 0x1p-126) value = std::copysign(0.0, value);
      out = is_integer(s.to) ? float_to_integer(value, s) : to_float(value, s);
    }
    // A register wider than the type gets it sign- or zero-extended.
    const unsigned width = ptx::bit_width(s.to);
    if (width < s.to_bytes * 8u)
      out = is_signed(s.to) ? static_cast<std::uint64_t>(sign_extended(out, width)) : out & ((std::uint64_t{1} << width) - 1);
    std::memcpy(d + l * s.to_bytes, &out, s.to_bytes);
  }
  if (s.rounding != FE_TONEAREST) std::fesetround(FE_TONEAREST);
  return Step::next;
}

// Whole-register copies and truncations, the common integer cases.
template <class D, class A>
struct Resize { static D apply(A a) { return static_cast<D>(a); } };

// d = {high: a, low: b} of two f32.
enum class PairFormat : std::uint8_t { bf16, f16, e4m3, e5m2, e2m1 };
struct PairSettings { PairFormat format; bool relu, satfinite, toward_zero; };

Step pack_pair(Execution& x) {
  const auto s = x.in.settings<PairSettings>();
  const auto* a = x.source<float>(1);
  const auto* b = x.source<float>(2);
  const Rounding r = s.toward_zero ? Rounding::toward_zero : Rounding::nearest_even;
  const auto one = [&](float v) -> std::uint32_t {
    if (s.relu && !std::isnan(v)) v = v > 0 ? v : 0.0f;
    switch (s.format) {
      case PairFormat::bf16: return f32_to_bf16(v, r, s.satfinite);
      case PairFormat::f16: return f32_to_f16(v, r, s.satfinite);
      case PairFormat::e4m3: return f32_to_e4m3(v);
      case PairFormat::e5m2: return f32_to_e5m2(v);
      case PairFormat::e2m1: return f32_to_e2m1(v) & 0xF;
    }
    return 0;
  };
  const unsigned shift = s.format <= PairFormat::f16 ? 16 : s.format == PairFormat::e2m1 ? 4 : 8;
  const unsigned bytes = x.in.operands[0].bytes;
  std::byte* d = x.destination<std::byte>();
  for_lanes(x.mask, [&](unsigned l) {
    const std::uint32_t out = one(a[l]) << shift | one(b[l]);
    std::memcpy(d + l * bytes, &out, bytes);
  });
  return Step::next;
}

// f16x2 from e4m3x2 or e5m2x2: exact.
Step widen_pair(Execution& x) {
  const auto format = x.in.settings<NumberFormat>();
  const auto* a = x.source<std::uint16_t>(1);
  auto* d = x.destination<std::uint32_t>();
  const Decoded* table = decode_table(format);
  for_lanes(x.mask, [&](unsigned l) {
    d[l] = f32_to_f16(table[a[l] & 0xFF].value) | std::uint32_t{f32_to_f16(table[a[l] >> 8].value)} << 16;
  });
  return Step::next;
}

bool decode_pairs(InstructionDecoder& d) {
  static constexpr std::pair<std::string_view, PairFormat> packs[] = {
      {"bf16x2", PairFormat::bf16}, {"f16x2", PairFormat::f16}, {"e4m3x2", PairFormat::e4m3},
      {"e5m2x2", PairFormat::e5m2}, {"e2m1x2", PairFormat::e2m1}};
  const auto narrow = std::find_if(d.modifiers().begin(), d.modifiers().end(), [](std::string_view m) {
    return m == "e4m3x2" || m == "e5m2x2";
  });
  if (std::find(d.modifiers().begin(), narrow, "f16x2") != narrow && narrow != d.modifiers().end()) {
    const bool e4m3 = d.take("e4m3x2");
    d.ignore({"rn", "f16x2", "e5m2x2"});
    d.add(0, 4);
    d.add(1, 2);
    d.out().set(e4m3 ? NumberFormat::e4m3 : NumberFormat::e5m2);
    d.handler(widen_pair);
    return true;
  }
  for (const auto& [name, format] : packs) {
    if (!d.has(name)) continue;
    PairSettings s{format, d.take("relu"), d.take("satfinite"), d.take("rz")};
    d.ignore({"rn"});
    (void)d.take(name);
    if (!d.take("f32")) return true;
    const unsigned bytes = format <= PairFormat::f16 ? 4 : format == PairFormat::e2m1 ? 1 : 2;
    d.add(0, bytes, false, format == PairFormat::e2m1);
    d.add(1, 4, true);
    d.add(2, 4, true);
    d.out().set(s);
    d.handler(pack_pair);
    return true;
  }
  return false;
}

Handler fast_form(const ConvertSettings& s) {
  using ptx::ScalarType;
  if (s.saturate) return nullptr;
  if (s.to_bytes == 4 && s.from_bytes == 8 && ptx::bit_width(s.to) == 32 && is_integer(s.from) && is_integer(s.to))
    return unary<Resize<std::uint32_t, std::uint64_t>, std::uint32_t, std::uint64_t>;
  if (s.to_bytes == 8 && s.from_bytes == 4 && is_integer(s.to) && s.from == ScalarType::u32)
    return unary<Resize<std::uint64_t, std::uint32_t>, std::uint64_t, std::uint32_t>;
  if (s.to_bytes == 8 && s.from_bytes == 4 && is_integer(s.to) && s.from == ScalarType::s32)
    return unary<Resize<std::int64_t, std::int32_t>, std::int64_t, std::int32_t>;
  return nullptr;
}

}  // namespace

bool decode_convert(InstructionDecoder& d) {
  if (d.name() != "cvt") return false;
  if (decode_pairs(d)) return true;
  ConvertSettings s{};
  s.rounding = FE_TONEAREST;
  static constexpr std::pair<std::string_view, int> integral[] = {
      {"rni", FE_TONEAREST}, {"rzi", FE_TOWARDZERO}, {"rmi", FE_DOWNWARD}, {"rpi", FE_UPWARD}};
  for (const auto& [name, mode] : integral)
    if (d.take(name)) { s.rounding = mode; s.to_integral = true; }
  if (d.take("rz")) { s.rounding = FE_TOWARDZERO; s.toward_zero = true; }
  if (d.take("rm")) s.rounding = FE_DOWNWARD;
  if (d.take("rp")) s.rounding = FE_UPWARD;
  d.ignore({"rn"});
  s.saturate = d.take("sat");
  s.flush = d.take("ftz");
  s.relu = d.take("relu");
  s.satfinite = d.take("satfinite");
  const auto to = d.take_type(), from = d.take_type();
  if (!to || !from) { d.fail("these types are not modelled"); return true; }
  const auto known = [](ptx::ScalarType t) {
    return is_integer(t) || is_floating(t) || t == ptx::ScalarType::f16 || t == ptx::ScalarType::bf16;
  };
  const bool small = *to == ptx::ScalarType::f16 || *to == ptx::ScalarType::bf16;
  if (!known(*to) || !known(*from) || (small && (s.rounding == FE_UPWARD || s.rounding == FE_DOWNWARD) && !s.to_integral)) {
    d.fail("these types or this rounding are not modelled");
    return true;
  }
  s.to = *to;
  s.from = *from;
  d.add(0, bytes_of(*to), false, true);
  d.add(1, bytes_of(*from), is_floating(*from), true);
  s.to_bytes = d.out().operands[0].bytes;
  s.from_bytes = d.out().operands[1].bytes;
  if (s.from_bytes == 0 || s.to_bytes == 0) d.fail("predicates cannot be converted");
  d.out().set(s);
  const Handler fast = fast_form(s);
  d.handler(fast != nullptr ? fast : convert);
  return true;
}

}  // namespace mlaindex::emulator
