// f16, bf16 and their packed pairs, and the mixed forms with an f32 result.
#include <algorithm>
#include <cmath>

#include "emulator/lane_ops.h"
#include "emulator/number_format.h"

namespace mlaindex::emulator {
namespace {

enum class HalfOp : std::uint8_t { add, sub, mul, fma, min, max, neg, abs };

struct HalfSettings {
  HalfOp op;
  bool brain, pair, relu, saturate, keep_nan;
};

// The double next to a + b toward zero, with its last bit set, where a + b is none: rounded again to fewer bits it
// gives what a + b does.
double sum_to_odd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - a;
  const double rest = (a - (sum - part)) + (b - part);
  if (rest == 0) return sum;
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if ((rest < 0) == (sum > 0)) --bits;
  return std::bit_cast<double>(bits | 1);
}

float widen(std::uint16_t bits, bool brain) { return brain ? bf16_to_f32(bits) : f16_to_f32(bits); }
std::uint16_t narrow(double value, bool brain) {
  // A double holds products of 16-bit values and their sums, or what rounds as they do.
  float f = static_cast<float>(value);
  if (double{f} != value && std::isfinite(value) && std::isfinite(f)) {
    auto bits = std::bit_cast<std::uint32_t>(f);
    if (std::fabs(double{f}) > std::fabs(value)) --bits;  // toward zero, then mark as inexact
    f = std::bit_cast<float>(bits | 1);
  }
  return brain ? f32_to_bf16(f) : f32_to_f16(f);
}

std::uint16_t compute(const HalfSettings& s, std::uint16_t a, std::uint16_t b, std::uint16_t c) {
  if (s.op == HalfOp::neg) return a ^ 0x8000;
  if (s.op == HalfOp::abs) return a & 0x7FFF;
  const double p = widen(a, s.brain), q = widen(b, s.brain);
  double out = 0;
  switch (s.op) {
    case HalfOp::add: out = p + q; break;
    case HalfOp::sub: out = p - q; break;
    case HalfOp::mul: out = p * q; break;
    case HalfOp::fma: out = sum_to_odd(p * q, widen(c, s.brain)); break;  // the product is exact
    default: {
      if (std::isnan(p) || std::isnan(q)) {
        if (s.keep_nan || (std::isnan(p) && std::isnan(q))) return 0x7FFF;
        return std::isnan(p) ? b : a;
      }
      const bool a_larger = p > q || (p == q && !std::signbit(p));
      return (s.op == HalfOp::max) == a_larger ? a : b;
    }
  }
  if (std::isnan(out)) return s.saturate ? 0 : 0x7FFF;
  if (s.relu && (out < 0 || std::signbit(out))) out = 0;
  if (s.saturate) out = std::min(std::max(out, 0.0), 1.0);
  return narrow(out, s.brain);
}

Step half(Execution& x) {
  const auto s = x.in.settings<HalfSettings>();
  const std::size_t count = x.in.operands.size();
  if (s.pair) {
    const auto* a = x.source<std::uint32_t>(1);
    const auto* b = count > 2 ? x.source<std::uint32_t>(2) : a;
    const auto* c = count > 3 ? x.source<std::uint32_t>(3) : a;
    auto* d = x.destination<std::uint32_t>();
    const auto low = [](std::uint32_t v) { return static_cast<std::uint16_t>(v); };
    const auto high = [](std::uint32_t v) { return static_cast<std::uint16_t>(v >> 16); };
    for_lanes(x.mask, [&](unsigned l) {
      d[l] = compute(s, low(a[l]), low(b[l]), low(c[l])) |
             std::uint32_t{compute(s, high(a[l]), high(b[l]), high(c[l]))} << 16;
    });
  } else {
    const auto* a = x.source<std::uint16_t>(1);
    const auto* b = count > 2 ? x.source<std::uint16_t>(2) : a;
    const auto* c = count > 3 ? x.source<std::uint16_t>(3) : a;
    auto* d = x.destination<std::uint16_t>();
    for_lanes(x.mask, [&](unsigned l) { d[l] = compute(s, a[l], b[l], c[l]); });
  }
  return Step::next;
}

// add.f32.bf16 d, a, c and fma.rn.f32.bf16 d, a, b, c: 16-bit operands are widened exactly.
struct MixedSettings { bool brain, subtract, fused; };

Step mixed(Execution& x) {
  const auto s = x.in.settings<MixedSettings>();
  const auto* a = x.source<std::uint16_t>(1);
  const auto* b = s.fused ? x.source<std::uint16_t>(2) : a;
  const auto* c = x.source<float>(x.in.operands.size() - 1);
  auto* d = x.destination<float>();
  for_lanes(x.mask, [&](unsigned l) {
    const float p = widen(a[l], s.brain);
    d[l] = s.fused ? std::fma(p, widen(b[l], s.brain), c[l]) : s.subtract ? p - c[l] : p + c[l];
  });
  return Step::next;
}

}  // namespace

bool decode_half(InstructionDecoder& d) {
  static constexpr std::pair<std::string_view, HalfOp> known[] = {
      {"add", HalfOp::add}, {"sub", HalfOp::sub}, {"mul", HalfOp::mul}, {"fma", HalfOp::fma},
      {"min", HalfOp::min}, {"max", HalfOp::max}, {"neg", HalfOp::neg}, {"abs", HalfOp::abs}};
  const auto* it = std::find_if(std::begin(known), std::end(known), [&](const auto& k) { return k.first == d.name(); });
  if (it == std::end(known)) return false;
  const auto form = d.take_any({"f16", "bf16", "f16x2", "bf16x2"});
  if (!form) return false;
  const bool brain = form->starts_with("b"), pair = form->ends_with("x2");
  const HalfOp op = it->second;
  if (d.take("f32")) {
    d.ignore({"rn"});
    if (pair || (op != HalfOp::add && op != HalfOp::sub && op != HalfOp::fma)) return true;
    d.out().set(MixedSettings{brain, op == HalfOp::sub, op == HalfOp::fma});
    d.add(0, 4, true);
    d.add(1, 2);
    if (op == HalfOp::fma) d.add(2, 2);
    d.add(op == HalfOp::fma ? 3 : 2, 4, true);
    d.handler(mixed);
    return true;
  }
  d.ignore({"rn"});
  HalfSettings s{op, brain, pair, d.take("relu"), d.take("sat"), d.take("NaN")};
  const std::size_t arity = op == HalfOp::fma ? 3 : op >= HalfOp::neg ? 1 : 2;
  for (std::size_t i = 0; i <= arity; ++i) d.add(i, pair ? 4 : 2);
  d.out().set(s);
  d.handler(half);
  return true;
}

}  // namespace mlaindex::emulator
