// setp, set, selp, slct.
#include <algorithm>
#include <cmath>
#include <optional>

#include "emulator/lane_ops.h"
#include "emulator/number_format.h"

namespace mlaindex::emulator {
namespace {

enum class Comparison : std::uint8_t {
  eq, ne, lt, le, gt, ge, lo, ls, hi, hs, equ, neu, ltu, leu, gtu, geu, num, nan,
};

constexpr std::string_view kComparisons[] = {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs",
                                             "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

struct CompareSettings {
  Comparison comparison;
  std::uint8_t combine;  // 0 none, 1 and, 2 or, 3 xor
  std::uint8_t half;     // 0 no, 1 f16, 2 bf16
  bool result_is_float;  // set.f32
};

template <Comparison C, class T>
bool holds(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool unordered = std::isnan(a) || std::isnan(b);
    if constexpr (C == Comparison::num) return !unordered;
    if constexpr (C == Comparison::nan) return unordered;
    if constexpr (C >= Comparison::equ && C <= Comparison::geu) if (unordered) return true;
    if constexpr (C == Comparison::ne) return !unordered && a != b;
  }
  if constexpr (C == Comparison::eq || C == Comparison::equ) return a == b;
  else if constexpr (C == Comparison::ne || C == Comparison::neu) return a != b;
  else if constexpr (C == Comparison::lt || C == Comparison::lo || C == Comparison::ltu) return a < b;
  else if constexpr (C == Comparison::le || C == Comparison::ls || C == Comparison::leu) return a <= b;
  else if constexpr (C == Comparison::gt || C == Comparison::hi || C == Comparison::gtu) return a > b;
  else return a >= b;
}

// Lanes where the comparison holds.
template <class T>
LaneMask compare(const CompareSettings& s, const T* a, const T* b) {
  const auto all = [a, b]<Comparison C>() {
    LaneMask out = 0;
    for (unsigned l = 0; l < kWarpSize; ++l) out |= static_cast<LaneMask>(holds<C, T>(a[l], b[l])) << l;
    return out;
  };
  switch (s.comparison) {
    case Comparison::eq: return all.template operator()<Comparison::eq>();
    case Comparison::ne: return all.template operator()<Comparison::ne>();
    case Comparison::lt: return all.template operator()<Comparison::lt>();
    case Comparison::le: return all.template operator()<Comparison::le>();
    case Comparison::gt: return all.template operator()<Comparison::gt>();
    case Comparison::ge: return all.template operator()<Comparison::ge>();
    case Comparison::lo: return all.template operator()<Comparison::lo>();
    case Comparison::ls: return all.template operator()<Comparison::ls>();
    case Comparison::hi: return all.template operator()<Comparison::hi>();
    case Comparison::hs: return all.template operator()<Comparison::hs>();
    case Comparison::equ: return all.template operator()<Comparison::equ>();
    case Comparison::neu: return all.template operator()<Comparison::neu>();
    case Comparison::ltu: return all.template operator()<Comparison::ltu>();
    case Comparison::leu: return all.template operator()<Comparison::leu>();
    case Comparison::gtu: return all.template operator()<Comparison::gtu>();
    case Comparison::geu: return all.template operator()<Comparison::geu>();
    case Comparison::num: return all.template operator()<Comparison::num>();
    case Comparison::nan: return all.template operator()<Comparison::nan>();
  }
  return 0;
}

template <class T>
LaneMask compare_operands(const Execution& x, std::size_t first) {
  const auto s = x.in.settings<CompareSettings>();
  if constexpr (sizeof(T) == 2) {
    if (s.half != 0) {
      const auto* a = x.source<std::uint16_t>(first);
      const auto* b = x.source<std::uint16_t>(first + 1);
      float p[kWarpSize], q[kWarpSize];
      for (unsigned l = 0; l < kWarpSize; ++l) {
        p[l] = s.half == 2 ? bf16_to_f32(a[l]) : f16_to_f32(a[l]);
        q[l] = s.half == 2 ? bf16_to_f32(b[l]) : f16_to_f32(b[l]);
      }
      return compare(s, p, q);
    }
  }
  return compare(s, x.source<T>(first), x.source<T>(first + 1));
}

LaneMask combined(std::uint8_t combine, LaneMask a, LaneMask b) {
  return combine == 1 ? a & b : combine == 2 ? a | b : combine == 3 ? a ^ b : a;
}

// setp p|q, a, b{, c}: p = (a op b) combined with c, q = !(a op b) combined with c.
template <class T>
Step set_predicates(Execution& x) {
  const auto s = x.in.settings<CompareSettings>();
  const LaneMask result = compare_operands<T>(x, 2);
  const LaneMask with = x.given(4) ? x.predicate(x.in.operands[4]) : 0;
  x.set_predicate(x.in.operands[0], combined(s.combine, result, with));
  x.set_predicate(x.in.operands[1], combined(s.combine, ~result, with));
  return Step::next;
}

template <class T>
Step set_value(Execution& x) {
  const auto s = x.in.settings<CompareSettings>();
  const LaneMask with = x.given(3) ? x.predicate(x.in.operands[3]) : 0;
  const LaneMask result = combined(s.combine, compare_operands<T>(x, 1), with);
  const std::uint32_t yes = s.result_is_float ? 0x3F800000u : ~0u;
  auto* d = x.destination<std::uint32_t>();
  for_lanes(x.mask, [=](unsigned l) { d[l] = (result >> l) & 1 ? yes : 0; });
  return Step::next;
}

template <class T>
Step select(Execution& x) {
  const LaneMask p = x.predicate(x.in.operands[3]);
  // Only the chosen side must have been written.
  const auto checked = [&](std::size_t i, LaneMask lanes) {
    Execution side = x;
    side.mask &= lanes;
    return side.source<T>(i);
  };
  const T* a = checked(1, p);
  const T* b = checked(2, ~p);
  T* d = x.destination<T>();
  for_lanes(x.mask, [=](unsigned l) { d[l] = (p >> l) & 1 ? a[l] : b[l]; });
  return Step::next;
}

template <class T, class C>
Step select_by_sign(Execution& x) {
  const T* a = x.source<T>(1);
  const T* b = x.source<T>(2);
  const C* c = x.source<C>(3);
  T* d = x.destination<T>();
  for_lanes(x.mask, [=](unsigned l) { d[l] = c[l] >= C{0} ? a[l] : b[l]; });
  return Step::next;
}

// The comparison is on the type of the operands.
template <template <class> class Pick>
Handler by_any(ptx::ScalarType type) {
  switch (type) {
    case ptx::ScalarType::f32: return Pick<float>::handler;
    case ptx::ScalarType::f64: return Pick<double>::handler;
    case ptx::ScalarType::b16:
    case ptx::ScalarType::f16:
    case ptx::ScalarType::bf16: return Pick<std::uint16_t>::handler;
    case ptx::ScalarType::b32: return Pick<std::uint32_t>::handler;
    case ptx::ScalarType::b64: return Pick<std::uint64_t>::handler;
    case ptx::ScalarType::u16: return Pick<std::uint16_t>::handler;
    case ptx::ScalarType::s16: return Pick<std::int16_t>::handler;
    case ptx::ScalarType::u32: return Pick<std::uint32_t>::handler;
    case ptx::ScalarType::s32: return Pick<std::int32_t>::handler;
    case ptx::ScalarType::u64: return Pick<std::uint64_t>::handler;
    case ptx::ScalarType::s64: return Pick<std::int64_t>::handler;
    default: return nullptr;
  }
}
template <class T> struct PredicatePick { static constexpr Handler handler = set_predicates<T>; };
template <class T> struct ValuePick { static constexpr Handler handler = set_value<T>; };

bool decode_compare_form(InstructionDecoder& d) {
  CompareSettings s{};
  bool found = false;
  for (std::size_t i = 0; i < std::size(kComparisons) && !found; ++i)
    if (d.take(kComparisons[i])) {
      s.comparison = static_cast<Comparison>(i);
      found = true;
    }
  if (!found) { d.fail("an unknown comparison"); return true; }
  if (d.take("and")) s.combine = 1;
  else if (d.take("or")) s.combine = 2;
  else if (d.take("xor")) s.combine = 3;
  if (d.take("ftz")) { d.fail(".ftz comparisons are not modelled"); return true; }
  auto& out = d.out().operands;
  const bool is_setp = d.name() == "setp";
  auto type = d.take_type();
  if (!is_setp) {
    const auto result = type;
    type = d.take_type();
    if (!result || bytes_of(*result) != 4) return true;
    s.result_is_float = *result == ptx::ScalarType::f32;
  }
  if (!type) return true;
  s.half = *type == ptx::ScalarType::f16 ? 1 : *type == ptx::ScalarType::bf16 ? 2 : 0;
  const unsigned bytes = bytes_of(*type);
  if (is_setp) {
    if (const auto* pair = d.source().operands[0].as<ptx::RegisterPair>()) {
      for (const std::uint32_t r : {pair->first, pair->second})
        out.push_back(r == ptx::kNoIndex ? Operand{.none = true} : d.layout().register_operand(r));
    } else {
      out.push_back(d.predicate(0));
      out.push_back({.none = true});
    }
  } else {
    d.add(0, 4);
  }
  d.add(1, bytes, is_floating(*type));
  d.add(2, bytes, is_floating(*type));
  if (s.combine != 0) out.push_back(d.predicate(3));
  d.out().set(s);
  d.handler(is_setp ? by_any<PredicatePick>(*type) : by_any<ValuePick>(*type));
  return true;
}

}  // namespace

bool decode_compare(InstructionDecoder& d) {
  if (d.name() == "setp" || d.name() == "set") return decode_compare_form(d);
  if (d.name() == "selp") {
    const auto type = d.take_type();
    if (!type) return true;
    for (std::size_t i = 0; i < 3; ++i) d.add(i, bytes_of(*type), is_floating(*type));
    d.out().operands.push_back(d.predicate(3));
    d.handler(by_width(bytes_of(*type), []<class T>() -> Handler { return select<T>; }));
    return true;
  }
  if (d.name() == "slct") {
    const auto type = d.take_type();
    const auto by = d.take_type();
    if (!type || !by) return true;
    for (std::size_t i = 0; i < 3; ++i) d.add(i, bytes_of(*type), is_floating(*type));
    d.add(3, 4, *by == ptx::ScalarType::f32);
    const bool by_float = *by == ptx::ScalarType::f32;
    d.handler(by_width(bytes_of(*type), [by_float]<class T>() -> Handler {
      return by_float ? select_by_sign<T, float> : select_by_sign<T, std::int32_t>;
    }));
    return true;
  }
  return false;
}

}  // namespace mlaindex::emulator
