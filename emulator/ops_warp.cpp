// Instructions among the lanes of a warp.
#include <algorithm>
#include <bit>

#include "emulator/lane_ops.h"

namespace mlaindex::emulator {
namespace {

// The member mask must be the same in all lanes and hold every lane that executes.
bool member_mask(Execution& x, const Operand& operand, LaneMask& members, Step& result) {
  const auto* mask = x.source<std::uint32_t>(operand);
  members = mask[x.lowest_lane()];
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1)
    if (mask[std::countr_zero(rest)] != members) {
      // Lanes with different masks are different groups; one mask at a time is enough here.
      result = x.fault(FaultKind::aligned_divergence, "member masks differ between lanes that execute together");
      return false;
    }
  if ((x.mask & ~members) != 0) {
    result = x.fault(FaultKind::aligned_divergence, "executing lanes " + std::to_string(x.mask) +
                                                        " are not all in the member mask " + std::to_string(members));
    return false;
  }
  if (!x.gathered(members)) {
    result = x.gather(members);
    return false;
  }
  return true;
}

enum class ShuffleMode : std::uint8_t { idx, up, down, bfly };

Step shuffle(Execution& x) {
  LaneMask members = 0;
  Step result{};
  if (!member_mask(x, x.in.operands[5], members, result)) return result;
  const auto mode = x.in.settings<ShuffleMode>();
  std::uint32_t in[kWarpSize];
  std::memcpy(in, x.source<std::uint32_t>(2), sizeof in);
  const auto* b = x.source<std::uint32_t>(3);
  const auto* c = x.source<std::uint32_t>(4);
  auto* d = x.destination<std::uint32_t>();
  LaneMask valid = 0;
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint32_t clamp = c[l] & 31, segment = (c[l] >> 8) & 31, shift = b[l] & 31;
    const std::uint32_t most = (l & segment) | (clamp & ~segment), least = l & segment;
    std::int64_t from = 0;
    bool ok = false;
    switch (mode) {
      case ShuffleMode::idx: from = least | (shift & ~segment); ok = from <= most; break;
      case ShuffleMode::up: from = std::int64_t{l} - shift; ok = from >= most; break;
      case ShuffleMode::down: from = std::int64_t{l} + shift; ok = from <= most; break;
      case ShuffleMode::bfly: from = l ^ shift; ok = from <= most; break;
    }
    if (!ok) from = l;
    if (((members >> from) & 1) == 0)
      return x.fault(FaultKind::uninitialised_read, "lane " + std::to_string(l) + " reads lane " + std::to_string(from) +
                                                        ", which is not in the member mask");
    d[l] = in[from];
    valid |= static_cast<LaneMask>(ok) << l;
  }
  x.set_predicate(x.in.operands[1], valid);
  return Step::next;
}

Step elect(Execution& x) {
  LaneMask members = 0;
  Step result{};
  if (!member_mask(x, x.in.operands[2], members, result)) return result;
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(members & x.warp.live()));
  if (x.given(0)) {
    auto* d = x.destination<std::uint32_t>();
    for_lanes(x.mask, [=](unsigned l) { d[l] = leader; });
  }
  x.set_predicate(x.in.operands[1], LaneMask{1} << leader);
  return Step::next;
}

enum class VoteMode : std::uint8_t { all, any, uni, ballot };

Step vote(Execution& x) {
  LaneMask members = 0;
  Step result{};
  if (!member_mask(x, x.in.operands[2], members, result)) return result;
  const LaneMask p = x.predicate(x.in.operands[1]) & x.mask;
  const auto mode = x.in.settings<VoteMode>();
  if (mode == VoteMode::ballot) {
    auto* d = x.destination<std::uint32_t>();
    for_lanes(x.mask, [=](unsigned l) { d[l] = p; });
    return Step::next;
  }
  const bool yes = mode == VoteMode::any ? p != 0 : mode == VoteMode::all ? p == x.mask : p == 0 || p == x.mask;
  x.set_predicate(x.in.operands[0], yes ? kAllLanes : 0);
  return Step::next;
}

struct RedAdd { template <class T> static T apply(T a, T b) { return static_cast<T>(std::uint32_t(a) + std::uint32_t(b)); } };
struct RedMin { template <class T> static T apply(T a, T b) { return std::min(a, b); } };
struct RedMax { template <class T> static T apply(T a, T b) { return std::max(a, b); } };
struct RedAnd { template <class T> static T apply(T a, T b) { return a & b; } };
struct RedOr { template <class T> static T apply(T a, T b) { return a | b; } };
struct RedXor { template <class T> static T apply(T a, T b) { return a ^ b; } };

template <class Op, class T>
Step reduce(Execution& x) {
  LaneMask members = 0;
  Step result{};
  if (!member_mask(x, x.in.operands[2], members, result)) return result;
  const T* a = x.source<T>(1);
  T sum = a[x.lowest_lane()];
  for (LaneMask rest = x.mask & (x.mask - 1); rest != 0; rest &= rest - 1) sum = Op::apply(sum, a[std::countr_zero(rest)]);
  T* d = x.destination<T>();
  for_lanes(x.mask, [=](unsigned l) { d[l] = sum; });
  return Step::next;
}

Step match_any(Execution& x) {
  LaneMask members = 0;
  Step result{};
  if (!member_mask(x, x.in.operands[2], members, result)) return result;
  const bool wide = x.in.operands[1].bytes == 8;
  const std::byte* a = x.source<std::byte>(1);
  auto* d = x.destination<std::uint32_t>();
  const unsigned bytes = wide ? 8 : 4;
  for_lanes(x.mask, [&](unsigned l) {
    LaneMask same = 0;
    for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
      const auto m = static_cast<unsigned>(std::countr_zero(rest));
      same |= static_cast<LaneMask>(std::memcmp(a + l * bytes, a + m * bytes, bytes) == 0) << m;
    }
    d[l] = same;
  });
  return Step::next;
}

Step active_mask(Execution& x) {
  auto* d = x.destination<std::uint32_t>();
  const LaneMask mask = x.mask;
  for_lanes(mask, [=](unsigned l) { d[l] = mask; });
  return Step::next;
}

// d|p destinations; either may be `_`.
void add_pair(InstructionDecoder& d, std::size_t i) {
  const ptx::Operand& operand = d.source().operands[i];
  const auto of = [&](std::uint32_t r) { return r == ptx::kNoIndex ? Operand{.none = true} : d.layout().register_operand(r); };
  if (const auto* pair = operand.as<ptx::RegisterPair>()) {
    d.out().operands.push_back(of(pair->first));
    d.out().operands.push_back(of(pair->second));
  } else {
    d.out().operands.push_back(d.value(operand, 4));
    d.out().operands.push_back({.none = true});
  }
}

void decode_redux(InstructionDecoder& d) {
  const auto op = d.take_any({"add", "min", "max", "and", "or", "xor"});
  const auto type = d.take_type();
  if (!op || !type || is_floating(*type)) return d.fail("redux.sync on 32-bit integers is modelled");
  for (std::size_t i = 0; i < 3; ++i) d.add(i, 4);
  const bool s = *type == ptx::ScalarType::s32;
  if (*op == "add") d.handler(reduce<RedAdd, std::uint32_t>);
  else if (*op == "min") d.handler(s ? reduce<RedMin, std::int32_t> : reduce<RedMin, std::uint32_t>);
  else if (*op == "max") d.handler(s ? reduce<RedMax, std::int32_t> : reduce<RedMax, std::uint32_t>);
  else if (*op == "and") d.handler(reduce<RedAnd, std::uint32_t>);
  else if (*op == "or") d.handler(reduce<RedOr, std::uint32_t>);
  else d.handler(reduce<RedXor, std::uint32_t>);
}

void decode_vote(InstructionDecoder& d) {
  const auto mode = d.take_any({"all", "any", "uni", "ballot"});
  if (!mode) return;
  const bool ballot = *mode == "ballot";
  d.ignore({"pred", "b32"});
  d.out().operands.push_back(ballot ? d.value(0, 4) : d.predicate(0));
  d.out().operands.push_back(d.predicate(1));
  d.out().operands.push_back(d.value(2, 4));
  d.out().set(ballot ? VoteMode::ballot : *mode == "all" ? VoteMode::all : *mode == "any" ? VoteMode::any : VoteMode::uni);
  d.handler(vote);
}

}  // namespace

bool decode_warp(InstructionDecoder& d) {
  const std::string_view n = d.name();
  if (n == "activemask") {
    d.ignore({"b32"});
    d.add(0, 4);
    d.handler(active_mask);
    return true;
  }
  if (n != "shfl" && n != "elect" && n != "vote" && n != "redux" && n != "match") return false;
  if (!d.take("sync")) { d.fail("only the .sync form is modelled"); return true; }
  if (n == "shfl") {
    const auto mode = d.take_any({"idx", "up", "down", "bfly"});
    d.ignore({"b32"});
    if (!mode) return true;
    add_pair(d, 0);
    for (std::size_t i = 1; i < 5; ++i) d.add(i, 4);
    d.out().set(*mode == "idx" ? ShuffleMode::idx : *mode == "up" ? ShuffleMode::up : *mode == "down" ? ShuffleMode::down : ShuffleMode::bfly);
    d.handler(shuffle);
  } else if (n == "elect") {
    add_pair(d, 0);
    d.add(1, 4);
    d.handler(elect);
  } else if (n == "vote") {
    decode_vote(d);
  } else if (n == "redux") {
    decode_redux(d);
  } else if (d.take("any")) {
    const bool wide = d.take("b64");
    d.ignore({"b32"});
    d.add(0, 4);
    d.add(1, wide ? 8 : 4);
    d.add(2, 4);
    d.handler(match_any);
  }
  return true;
}

}  // namespace mlaindex::emulator
