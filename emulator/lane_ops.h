// Templates for instructions that compute each lane by itself.
#pragma once

#include <cstdint>
#include <type_traits>

#include "emulator/decoder.h"
#include "emulator/execution.h"

namespace mlaindex::emulator {

// Op::apply(a) with the types of one lane.
template <class Op, class D, class A>
Step unary(Execution& x) {
  const A* a = x.source<A>(1);
  D* d = x.destination<D>();
  for_lanes(x.mask, [=](unsigned l) { d[l] = Op::apply(a[l]); });
  return Step::next;
}

template <class Op, class D, class A, class B = A>
Step binary(Execution& x) {
  const A* a = x.source<A>(1);
  const B* b = x.source<B>(2);
  D* d = x.destination<D>();
  for_lanes(x.mask, [=](unsigned l) { d[l] = Op::apply(a[l], b[l]); });
  return Step::next;
}

template <class Op, class D, class A, class B = A, class C = D>
Step ternary(Execution& x) {
  const A* a = x.source<A>(1);
  const B* b = x.source<B>(2);
  const C* c = x.source<C>(3);
  D* d = x.destination<D>();
  for_lanes(x.mask, [=](unsigned l) { d[l] = Op::apply(a[l], b[l], c[l]); });
  return Step::next;
}

// Picks select.template operator()<T>() by integer type; nullptr for other types.
template <class F>
Handler by_integer(ptx::ScalarType type, F select) {
  switch (type) {
    case ptx::ScalarType::u16: return select.template operator()<std::uint16_t>();
    case ptx::ScalarType::s16: return select.template operator()<std::int16_t>();
    case ptx::ScalarType::u32: return select.template operator()<std::uint32_t>();
    case ptx::ScalarType::s32: return select.template operator()<std::int32_t>();
    case ptx::ScalarType::u64: return select.template operator()<std::uint64_t>();
    case ptx::ScalarType::s64: return select.template operator()<std::int64_t>();
    default: return nullptr;
  }
}

// As above by width, for untyped (.bN) instructions; the type is unsigned.
template <class F>
Handler by_width(unsigned bytes, F select) {
  switch (bytes) {
    case 2: return select.template operator()<std::uint16_t>();
    case 4: return select.template operator()<std::uint32_t>();
    case 8: return select.template operator()<std::uint64_t>();
    default: return nullptr;
  }
}

}  // namespace mlaindex::emulator
