// mbarrier operations.
#include <algorithm>

#include "emulator/lane_ops.h"
#include "emulator/memory_access.h"

namespace mlaindex::emulator {
namespace {

enum class BarrierOp : std::uint8_t { init, inval, expect_tx, complete_tx, arrive, arrive_drop, test_wait, try_wait };

struct BarrierSettings {
  BarrierOp op;
  bool remote;        // .shared::cluster or a generic address
  bool expect;        // arrive.expect_tx
  bool parity;
  bool no_complete;
};

Step check(Execution& x, FaultKind kind, std::uint32_t address, const Status& status) {
  if (status.ok()) return Step::next;
  return x.fault(kind, "barrier at shared " + hex(address) + ": " + status.error().text());
}

Step init(Execution& x) {
  const auto* count = x.source<std::uint32_t>(0);
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    std::uint32_t at = 0;
    if (!own_shared(x, x.address(x.in.addresses[0], l), 8, 8, at)) return Step::fatal;
    if (x.cta().mbarrier(at) != nullptr)
      return x.fault(FaultKind::barrier_misuse, "mbarrier.init of the live barrier at shared " + hex(at) + "; inval it first");
    const Step step = check(x, FaultKind::illegal_operand, at, x.cta().make_mbarrier(at).init(count[l]));
    if (step == Step::fatal) return step;
    *x.cta().mbarrier_origin(at) = {x.warp.index, false};
  }
  return Step::next;
}

// The barrier that lane `l` names, here or in the cluster.
Mbarrier* find(Execution& x, unsigned l, bool remote, std::uint32_t& at, Cta*& cta) {
  const std::uint64_t address = x.address(x.in.addresses[0], l);
  if (remote) {
    cta = cluster_shared(x, address, 8, 8, at);
  } else {
    cta = own_shared(x, address, 8, 8, at) ? &x.cta() : nullptr;
  }
  if (cta == nullptr) return nullptr;
  Mbarrier* barrier = cta->mbarrier(at);
  if (barrier == nullptr) x.fault(FaultKind::barrier_misuse, "no mbarrier was initialised at shared " + hex(at));
  return barrier;
}

// A phase that completed may let others go on.
void note_phase(Execution& x, const Mbarrier& barrier, std::uint32_t before) {
  if (barrier.phase() != before) ++x.cluster().changes;
}

Step update(Execution& x) {
  const auto s = x.in.settings<BarrierSettings>();
  x.require_written(x.in.addresses[0]);
  const auto* value = x.given(1) ? x.source<std::uint32_t>(1) : nullptr;
  std::uint64_t* state = x.given(0) ? x.destination<std::uint64_t>(0) : nullptr;
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    std::uint32_t at = 0;
    Cta* cta = nullptr;
    Mbarrier* barrier = find(x, l, s.remote, at, cta);
    if (barrier == nullptr) return Step::fatal;
    const std::uint32_t before = barrier->phase();
    if (state != nullptr) state[l] = before;
    Status status;
    FaultKind kind = FaultKind::barrier_misuse;
    if (s.op == BarrierOp::expect_tx || s.expect) {
      status = barrier->expect_tx(value[l]);
      kind = FaultKind::byte_count;
    } else if (s.op == BarrierOp::complete_tx) {
      status = barrier->complete_tx(value[l]);
      kind = FaultKind::byte_count;
    }
    if (status.ok() && s.op == BarrierOp::arrive) {
      const std::uint32_t count = s.expect || value == nullptr ? 1 : value[l];
      kind = FaultKind::barrier_misuse;
      status = barrier->arrive(count);
      if (status.ok() && s.no_complete && barrier->phase() != before)
        return x.fault(FaultKind::barrier_misuse, "arrive.noComplete completed the phase of the barrier at shared " + hex(at));
    }
    if (status.ok() && s.op == BarrierOp::arrive_drop) status = barrier->arrive_drop(value == nullptr ? 1 : value[l]);
    if (const Step step = check(x, kind, at, status); step == Step::fatal) return step;
    note_phase(x, *barrier, before);
  }
  return Step::next;
}

Step invalidate(Execution& x) {
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    std::uint32_t at = 0;
    Cta* cta = nullptr;
    if (find(x, l, false, at, cta) == nullptr) return Step::fatal;
    x.cta().drop_mbarrier(at);
  }
  return Step::next;
}

// A try_wait that cannot succeed suspends its lanes; lanes that can go on do so by themselves, since
// each lane's result is its own. test_wait answers at once.
Step wait(Execution& x) {
  const auto s = x.in.settings<BarrierSettings>();
  x.require_written(x.in.addresses[0]);
  LaneMask done = 0;
  std::uint32_t first_at = 0, first_parity = 0;
  bool first = true;
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    std::uint32_t at = 0;
    Cta* cta = nullptr;
    const Mbarrier* barrier = find(x, l, false, at, cta);
    if (barrier == nullptr) return Step::fatal;
    std::uint32_t parity;
    if (s.parity) {
      parity = x.source<std::uint32_t>(1)[l];
      if (parity > 1) return x.fault(FaultKind::illegal_operand, "a phase parity of " + std::to_string(parity));
    } else {
      parity = static_cast<std::uint32_t>(x.source<std::uint64_t>(1)[l]);
    }
    const bool complete = s.parity ? barrier->completed(parity) : barrier->phase() != parity;
    done |= static_cast<LaneMask>(complete) << l;
    if (!complete && first) { first = false; first_at = at; first_parity = parity & 1; }
  }
  if (done != x.mask && s.op == BarrierOp::try_wait && done == 0 && !x.cluster().schedule.spurious_timeout())
    return x.block(WaitKind::mbarrier, first_at, first_parity);
  x.set_predicate(x.in.operands[0], done);
  return done == x.mask ? Step::next : Step::yield;
}

void decode_wait(InstructionDecoder& d, BarrierSettings& s) {
  s.parity = d.take("parity");
  d.ignore({"acquire", "relaxed", "cta", "cluster", "shared", "shared::cta", "b64"});
  d.out().operands.push_back(d.predicate(0));
  d.out().addresses.push_back(d.address(1));
  d.add(2, s.parity ? 4 : 8);  // a time limit may follow; a suspended try_wait has none here
  d.handler(wait);
}

void decode_update(InstructionDecoder& d, BarrierSettings& s) {
  s.expect = d.take("expect_tx");
  s.no_complete = d.take("noComplete");
  s.remote = d.take("shared::cluster");
  const bool local = d.take("shared::cta") || d.take("shared");
  s.remote = s.remote || !local;
  d.ignore({"release", "acquire", "relaxed", "cta", "cluster", "b64"});
  std::size_t at = 0;
  if (d.num_operands() > 0 && d.tensor_address(0) == nullptr) {  // a state, or `_`
    d.add(0, 8);
    at = 1;
  } else {
    d.out().operands.push_back({.none = true});
  }
  d.out().addresses.push_back(d.address(at));
  if (d.num_operands() > at + 1) d.add(at + 1, 4);
  else if (s.expect || s.op == BarrierOp::expect_tx || s.op == BarrierOp::complete_tx) d.fail("a byte count is needed");
  d.handler(update);
}

}  // namespace

bool decode_mbarrier(InstructionDecoder& d) {
  if (d.name() != "mbarrier") return false;
  BarrierSettings s{};
  static constexpr std::pair<std::string_view, BarrierOp> names[] = {
      {"init", BarrierOp::init}, {"inval", BarrierOp::inval}, {"complete_tx", BarrierOp::complete_tx},
      {"arrive_drop", BarrierOp::arrive_drop}, {"arrive", BarrierOp::arrive}, {"test_wait", BarrierOp::test_wait},
      {"try_wait", BarrierOp::try_wait}, {"expect_tx", BarrierOp::expect_tx}};
  bool found = false;
  for (const auto& [name, op] : names)
    if (!found && d.take(name)) { s.op = op; found = true; }
  if (!found) return true;
  if (s.op == BarrierOp::init || s.op == BarrierOp::inval) {
    d.ignore({"shared", "shared::cta", "b64"});
    d.out().addresses.push_back(d.address(0));
    if (s.op == BarrierOp::init) d.add(1, 4);
    d.handler(s.op == BarrierOp::init ? init : invalidate);
  } else if (s.op == BarrierOp::test_wait || s.op == BarrierOp::try_wait) {
    decode_wait(d, s);
  } else {
    decode_update(d, s);
  }
  d.out().set(s);
  return true;
}

}  // namespace mlaindex::emulator
