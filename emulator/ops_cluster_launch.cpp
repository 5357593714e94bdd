// clusterlaunchcontrol: a running CTA takes over the work of a cluster that has not started.
#include <algorithm>

#include "emulator/lane_ops.h"
#include "emulator/memory_access.h"

namespace mlaindex::emulator {
namespace {

// The 16-byte response: opaque to programs, so any packing that query_cancel reads back will do.
struct Response {
  std::uint32_t x, y, z, canceled;
};

struct CancelSettings {
  bool multicast;
};

// Takes the next cluster of the grid, as another SM might take it first: by the schedule, a few
// attempts fail while work is left. Those clusters start by themselves.
bool take_cluster(Cluster& cluster, std::uint64_t& index) {
  Launch& launch = cluster.launch;
  if (launch.spec.options.seed > 1 && cluster.schedule.random().below(8) == 0) return false;
  index = launch.next_cluster.fetch_add(1);
  return index < launch.cluster_grid.count();
}

Step try_cancel(Execution& x) {
  const auto s = x.in.settings<CancelSettings>();
  for (const AddressOperand& a : x.in.addresses) x.require_written(a);
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    std::uint32_t response_at = 0, barrier_at = 0;
    if (!own_shared(x, x.address(x.in.addresses[0], l), 16, 16, response_at) ||
        !own_shared(x, x.address(x.in.addresses[1], l), 8, 8, barrier_at))
      return Step::fatal;
    if (x.cluster().cancel_failed)
      x.hazard(FaultKind::illegal_operand, "try_cancel after one that failed");
    std::uint64_t index = 0;
    const bool canceled = take_cluster(x.cluster(), index);
    x.cluster().cancel_failed = !canceled;
    const Dim3& grid = x.cluster().launch.cluster_grid;
    const Dim3& shape = x.cluster().launch.cluster;
    Response response{};
    if (canceled)
      response = {static_cast<std::uint32_t>(index % grid.x) * shape.x, static_cast<std::uint32_t>(index / grid.x % grid.y) * shape.y,
                  static_cast<std::uint32_t>(index / (std::uint64_t{grid.x} * grid.y)) * shape.z, 1};
    std::vector<Cta*> targets{&x.cta()};
    if (s.multicast) {
      targets.clear();
      for (const auto& cta : x.cluster().ctas) targets.push_back(cta.get());
    }
    for (Cta* cta : targets) {
      if (!check_signalled(x, *cta, barrier_at)) return Step::fatal;
      Actor who = x.actor();
      if (cta != &x.cta()) who.proxy_fence = who.now;
      x.hazard(cta->shared.begin_async_write(response_at, 16, who));
    }
    AsyncOperation op = x.operation("try_cancel");
    op.complete = [=, warp = &x.warp, line = x.in.line] {
      for (Cta* cta : targets) {
        std::memcpy(cta->shared.at(response_at), &response, sizeof response);
        cta->shared.end_async_write(response_at, 16);
        Mbarrier* barrier = cta->mbarrier(barrier_at);
        const Status status = barrier != nullptr ? barrier->complete_tx(16) : Status{};
        if (!status.ok()) cta->report(FaultKind::byte_count, true, warp, status.error().text(), line);
      }
    };
    x.cluster().async.add(std::move(op));
  }
  return Step::next;
}

enum class Query : std::uint8_t { is_canceled, x, y, z, vector };

Step query(Execution& x) {
  const auto what = x.in.settings<Query>();
  const auto* in = x.source<Response>(x.in.operands.back());
  if (what == Query::is_canceled) {
    LaneMask out = 0;
    for (unsigned l = 0; l < kWarpSize; ++l) out |= static_cast<LaneMask>(in[l].canceled != 0) << l;
    x.set_predicate(x.in.operands[0], out);
    return Step::next;
  }
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1)
    if (in[std::countr_zero(rest)].canceled == 0) {
      x.hazard(FaultKind::illegal_operand, "the coordinates of a failed try_cancel");
      break;
    }
  if (what == Query::vector) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (!x.given(i)) continue;
      auto* d = x.destination<std::uint32_t>(i);
      for_lanes(x.mask, [=](unsigned l) { d[l] = i == 0 ? in[l].x : i == 1 ? in[l].y : in[l].z; });
    }
    return Step::next;
  }
  auto* d = x.destination<std::uint32_t>();
  for_lanes(x.mask, [=](unsigned l) { d[l] = what == Query::x ? in[l].x : what == Query::y ? in[l].y : in[l].z; });
  return Step::next;
}

void decode_query(InstructionDecoder& d) {
  if (d.take("is_canceled")) {
    d.ignore({"pred", "b128"});
    d.out().operands.push_back(d.predicate(0));
    d.add(1, 16);
    d.out().set(Query::is_canceled);
    return d.handler(query);
  }
  const auto axis = d.take_any({"get_first_ctaid", "get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z"});
  if (!axis) return;
  d.ignore({"b32", "b128", "v4"});
  if (*axis == "get_first_ctaid") {
    for (const ptx::Operand* e : d.elements(0)) d.out().operands.push_back(d.value(*e, 4));
    if (d.out().operands.size() < 3) return d.fail("a vector of four is needed");
    d.add(1, 16);
    d.out().set(Query::vector);
  } else {
    d.add(0, 4);
    d.add(1, 16);
    d.out().set(axis->ends_with("x") ? Query::x : axis->ends_with("y") ? Query::y : Query::z);
  }
  d.handler(query);
}

}  // namespace

bool decode_cluster_launch(InstructionDecoder& d) {
  if (d.name() != "clusterlaunchcontrol") return false;
  if (d.take("query_cancel")) {
    decode_query(d);
  } else if (d.take("try_cancel")) {
    d.ignore({"async", "shared::cta", "mbarrier::complete_tx::bytes", "b128"});
    const bool multicast = d.take_prefix("multicast::cluster").has_value();
    d.out().addresses.push_back(d.address(0));
    d.out().addresses.push_back(d.address(1));
    d.out().set(CancelSettings{multicast});
    d.handler(try_cancel);
  }
  return true;
}

}  // namespace mlaindex::emulator
