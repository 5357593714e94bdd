// tcgen05: allocation, fences, waits and commits.
#include <algorithm>
#include <bit>

#include "emulator/lane_ops.h"
#include "emulator/tcgen05.h"

namespace mlaindex::emulator {
namespace {

// The same value in every lane.
bool uniform(Execution& x, const std::uint32_t* lanes, const char* what, Step& result) {
  for (unsigned l = 1; l < kWarpSize; ++l)
    if (lanes[l] != lanes[0]) {
      result = x.fault(FaultKind::aligned_divergence, std::string(what) + " differs between lanes");
      return false;
    }
  return true;
}

Step allocate(Execution& x) {
  Step result{};
  if (!whole_warp(x, result)) return result;
  x.require_written(x.in.addresses[0]);
  const auto* columns = x.source<std::uint32_t>(0);
  if (!uniform(x, columns, "the column count", result)) return result;
  std::uint32_t at = 0;
  if (!own_shared(x, x.address(x.in.addresses[0], 0), 4, 4, at)) return Step::fatal;
  if (x.cta().next_launch_may_start)
    x.hazard(FaultKind::launch_overlap, "tensor memory is allocated after griddepcontrol.launch_dependents: the next launch "
                                        "may have taken it, and waits for this one");
  const auto address = x.cta().tensor.allocate(columns[0]);
  if (!address.ok()) return x.fault(FaultKind::illegal_operand, address.error().text());
  if (!*address) return x.block(WaitKind::tensor_allocation, columns[0]);
  note_write(x, {x.cta().shared.at(at), &x.cta(), at}, 4);
  std::memcpy(x.cta().shared.at(at), &**address, 4);
  return Step::next;
}

Step deallocate(Execution& x) {
  Step result{};
  if (!whole_warp(x, result)) return result;
  const auto* address = x.source<std::uint32_t>(0);
  const auto* columns = x.source<std::uint32_t>(1);
  if (!uniform(x, address, "the address", result) || !uniform(x, columns, "the column count", result)) return result;
  const Status status = x.cta().tensor.deallocate(address[0], columns[0]);
  if (!status.ok()) return x.fault(FaultKind::illegal_operand, status.error().text());
  x.hazard(x.cta().tensor.check_idle(address[0] & 0xFFFF, columns[0]));
  ++x.cluster().changes;
  return Step::next;
}

Step relinquish(Execution& x) {
  Step result{};
  if (!whole_warp(x, result)) return result;
  x.cta().tensor.relinquish();
  return Step::next;
}

Step fence_before(Execution& x) {
  x.cta().fence_before[x.warp.index] = x.now();
  return Step::next;
}

Step fence_after(Execution& x) {
  x.warp.fence_after = x.now();
  return Step::next;
}

Step wait_loads(Execution& x) {
  Step result{};
  if (!whole_warp(x, result)) return result;
  for (const TensorLoad& load : x.warp.tensor_loads)
    if (x.cluster().async.pending(load.operation)) return x.block(WaitKind::tensor_loads);
  for (const TensorLoad& load : x.warp.tensor_loads) {
    for (const LoadTargets::Target& target : load.registers->targets)
      x.warp.initialised(target.slot) |= load.registers->written[target.result];
    Actor who = tensor_actor(x);
    who.line = load.line;
    x.cta().tensor.end_load(load.region, who);
  }
  x.warp.tensor_loads.clear();
  return Step::next;
}

Step wait_stores(Execution& x) {
  Step result{};
  if (!whole_warp(x, result)) return result;
  if (x.cluster().async.any_pending(x.warp.tensor_stores)) return x.block(WaitKind::tensor_stores);
  x.warp.tensor_stores.clear();
  return Step::next;
}

struct CommitSettings {
  bool multicast;
};

void arrive(Cta& cta, std::uint32_t at, const Warp* warp, std::uint32_t line) {
  Mbarrier* barrier = cta.mbarrier(at);
  if (barrier == nullptr)
    return cta.report(FaultKind::barrier_misuse, true, warp, "tcgen05.commit: no mbarrier is initialised at shared " + hex(at), line);
  if (const Status status = barrier->arrive(1); !status.ok())
    cta.report(FaultKind::barrier_misuse, true, warp, "tcgen05.commit: " + status.error().text(), line);
}

Step commit(Execution& x) {
  const auto s = x.in.settings<CommitSettings>();
  if (!single_lane(x)) return Step::fatal;
  x.require_written(x.in.addresses[0]);
  const unsigned lane = x.lowest_lane();
  std::uint32_t at = 0;
  Cta* own = cluster_shared(x, x.address(x.in.addresses[0], lane), 8, 8, at);
  if (own == nullptr) return Step::fatal;
  std::vector<Cta*> targets;
  if (s.multicast) {
    const std::uint32_t mask = x.source<std::uint16_t>(0)[lane];
    for (std::uint32_t rank = 0; rank < 16; ++rank)
      if ((mask >> rank) & 1) {
        if (rank >= x.cluster().ctas.size())
          return x.fault(FaultKind::illegal_operand, "commit to rank " + std::to_string(rank) + " of a cluster of " +
                                                         std::to_string(x.cluster().ctas.size()));
        targets.push_back(x.cluster().ctas[rank].get());
      }
  } else {
    targets.push_back(own);
  }
  for (Cta* target : targets)
    if (!check_signalled(x, *target, at)) return Step::fatal;
  x.cta().fence_before[x.warp.index] = x.now();  // a commit implies it
  AsyncOperation op = x.operation("arrive");
  op.after = x.warp.tensor_operations;
  // Arrivals of one thread come in the order of its commits: production kernels rely on it.
  if (x.warp.last_commit != 0) op.after.push_back(x.warp.last_commit);
  op.complete = [targets, at, warp = &x.warp, line = x.in.line] {
    for (Cta* target : targets) arrive(*target, at, warp, line);
  };
  x.warp.last_commit = x.cluster().async.add(std::move(op));
  return Step::next;
}

}  // namespace

bool whole_warp(Execution& x, Step& result) {
  if (x.warp.live() != kAllLanes) {
    result = x.fault(FaultKind::aligned_divergence, "lanes of the warp have exited");
    return false;
  }
  if (x.gathered(kAllLanes)) return true;
  result = x.gather(kAllLanes);
  return false;
}

std::vector<Cta*> group_ctas(Execution& x, unsigned cta_group) {
  if (cta_group == 1) return {&x.cta()};
  const std::uint32_t even = x.cta().rank & ~1u;
  if (even + 1 >= x.cluster().ctas.size()) {
    x.fault(FaultKind::illegal_operand, "cta_group::2 outside a cluster of CTA pairs");
    return {};
  }
  return {x.cluster().ctas[even].get(), x.cluster().ctas[even + 1].get()};
}

bool single_lane(Execution& x) {
  if (std::has_single_bit(x.mask)) return true;
  x.fault(FaultKind::aligned_divergence, std::to_string(std::popcount(x.mask)) +
                                             " lanes execute an instruction that one thread issues");
  return false;
}

unsigned take_cta_group(InstructionDecoder& d) {
  if (d.take("cta_group::1")) return 1;
  if (d.take("cta_group::2")) return 2;
  d.fail(".cta_group is needed");
  return 1;
}

bool decode_tcgen05(InstructionDecoder& d) {
  if (d.name() != "tcgen05") return false;
  if (d.take("mma")) decode_tcgen05_mma(d);
  else if (d.take("cp")) decode_tcgen05_copy(d);
  else if (d.take("ld")) decode_tcgen05_load(d);
  else if (d.take("st")) decode_tcgen05_store(d);
  else if (d.take("fence::before_thread_sync")) d.handler(fence_before);
  else if (d.take("fence::after_thread_sync")) d.handler(fence_after);
  else if (d.take("wait::ld")) { d.ignore({"sync", "aligned"}); d.handler(wait_loads); }
  else if (d.take("wait::st")) { d.ignore({"sync", "aligned"}); d.handler(wait_stores); }
  else if (d.take("alloc")) {
    (void)take_cta_group(d);
    d.ignore({"sync", "aligned", "shared::cta", "b32"});
    d.out().addresses.push_back(d.address(0));
    d.add(1, 4);
    d.handler(allocate);
  } else if (d.take("dealloc")) {
    (void)take_cta_group(d);
    d.ignore({"sync", "aligned", "b32"});
    d.add(0, 4);
    d.add(1, 4);
    d.handler(deallocate);
  } else if (d.take("relinquish_alloc_permit")) {
    (void)take_cta_group(d);
    d.ignore({"sync", "aligned"});
    d.handler(relinquish);
  } else if (d.take("commit")) {
    (void)take_cta_group(d);
    d.ignore({"mbarrier::arrive::one", "shared::cluster", "b64"});
    const bool multicast = d.take("multicast::cluster");
    d.out().addresses.push_back(d.address(0));
    if (multicast) d.add(1, 2);
    d.out().set(CommitSettings{multicast});
    d.handler(commit);
  }
  return true;
}

}  // namespace mlaindex::emulator
