// What a handler sees: the warp, the lanes that execute, and the operands of the instruction.
#pragma once

#include <bit>
#include <string>

#include "emulator/cluster.h"

namespace mlaindex::emulator {

struct Execution {
  Warp& warp;
  Fragment& fragment;
  const Instruction& in;
  const std::byte* constants;
  LaneMask mask;        // lanes that execute: the fragment's, less those the guard turns off
  LaneMask taken = 0;   // result of a branch

  Cta& cta() const noexcept { return warp.cta; }
  Cluster& cluster() const noexcept { return warp.cta.cluster; }
  std::uint64_t now() const noexcept { return cluster().now; }
  Actor actor() const noexcept { return {warp.index, in.line, now(), warp.proxy_fence}; }

  bool given(std::size_t i) const noexcept { return i < in.operands.size() && !in.operands[i].none; }

  // 32 lanes of a source operand. Lanes that execute must have been written.
  template <class T>
  const T* source(const Operand& o) const {
    if (o.constant) return reinterpret_cast<const T*>(constants + o.offset);
    if (o.slot >= 0) {
      const LaneMask missing = mask & ~warp.initialised(o.slot);
      if (missing != 0) [[unlikely]] warp.report_unready(o, missing);
    }
    return reinterpret_cast<const T*>(warp.file() + o.offset);
  }
  template <class T>
  const T* source(std::size_t i) const { return source<T>(in.operands[i]); }

  // As `source`, but unwritten lanes are the caller's affair.
  template <class T>
  const T* peek(const Operand& o) const noexcept {
    return reinterpret_cast<const T*>((o.constant ? constants : warp.file()) + o.offset);
  }

  template <class T>
  T* destination(const Operand& o) const noexcept {
    if (o.slot >= 0) {
      warp.initialised(o.slot) |= mask;
      warp.written_at(o.slot) = now();
    }
    return reinterpret_cast<T*>(warp.file() + o.offset);
  }
  template <class T>
  T* destination(std::size_t i = 0) const noexcept { return destination<T>(in.operands[i]); }

  // A predicate as a mask of lanes; constants are all or none.
  LaneMask predicate(const Operand& o) const {
    const LaneMask value = *source<LaneMask>(o);
    return o.negated ? ~value : value;
  }
  void set_predicate(const Operand& o, LaneMask value) const noexcept {
    if (o.none) return;
    LaneMask* p = destination<LaneMask>(o);
    *p = (*p & ~mask) | (value & mask);
  }

  LaneMask lowest_lane() const noexcept { return static_cast<LaneMask>(std::countr_zero(mask)); }

  // Address operand of one lane.
  std::uint64_t address(const AddressOperand& a, unsigned lane) const noexcept {
    const std::uint64_t base = a.base.none         ? 0
                               : a.base.bytes == 8 ? peek<std::uint64_t>(a.base)[lane]
                                                   : peek<std::uint32_t>(a.base)[lane];
    return base + static_cast<std::uint64_t>(a.offset);
  }
  void require_written(const AddressOperand& a) const {
    if (!a.base.none && !a.base.constant) source<std::byte>(a.base);
  }

  // An asynchronous operation of this instruction, to be completed and queued.
  AsyncOperation operation(const char* engine) const {
    AsyncOperation op;
    op.engine = engine;
    op.cta = cta().rank;
    op.warp = warp.index;
    op.line = in.line;
    return op;
  }

  Step fault(FaultKind kind, std::string message) const {
    cta().report(kind, true, &warp, std::move(message));
    return Step::fatal;
  }
  void hazard(FaultKind kind, std::string message) const { cta().report(kind, false, &warp, std::move(message)); }
  void hazard(const std::optional<Hazard>& h) const {
    if (h) hazard(h->kind, h->message);
  }

  Step block(WaitKind kind, std::uint32_t value = 0, std::uint32_t detail = 0) const noexcept {
    fragment.wait = {kind, value, detail};
    return Step::blocked;
  }

  // For .aligned instructions and those with a member mask: whether all of `needed`'s live lanes are
  // here. If not, the result is what the handler must return.
  bool gathered(LaneMask needed) const noexcept { return (needed & warp.live() & ~mask) == 0; }
  Step gather(LaneMask needed) const {
    const LaneMask missing = needed & warp.live() & ~mask;
    if ((missing & fragment.mask) != 0)
      return fault(FaultKind::aligned_divergence, "a guard turns off lanes of an instruction that needs them all: mask " +
                                                      std::to_string(mask));
    return block(WaitKind::lanes, missing);
  }
};

// Calls f(lane) for the lanes of the mask; the full warp is a plain loop that vectorises.
template <class F>
inline void for_lanes(LaneMask mask, F f) {
  if (mask == kAllLanes) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
    for (unsigned lane = 0; lane < kWarpSize; ++lane) f(lane);
  } else {
    for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
  }
}

}  // namespace mlaindex::emulator
