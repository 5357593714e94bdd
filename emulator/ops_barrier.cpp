// Barriers of a warp, a CTA and a cluster, and cluster addresses.
#include <algorithm>
#include <bit>

#include "emulator/lane_ops.h"
#include "emulator/memory_access.h"

namespace mlaindex::emulator {
namespace {

Step warp_barrier(Execution& x) {
  const auto* mask = x.source<std::uint32_t>(0);
  const LaneMask members = mask[x.lowest_lane()];
  if ((x.mask & ~members) != 0)
    return x.fault(FaultKind::aligned_divergence, "executing lanes " + hex(x.mask) + " are not all in the member mask " + hex(members));
  return x.gathered(members) ? Step::next : x.gather(members);
}

struct NamedSettings {
  bool waits, aligned, has_count;
};

void release(NamedBarrier& b, Cluster& cluster) {
  b.arrived = 0;
  b.expected = 0;
  b.whole_cta = false;
  ++b.generation;
  ++cluster.changes;
}

bool complete(const NamedBarrier& b, const Cta& cta) {
  return b.arrived != 0 && b.arrived >= (b.whole_cta ? cta.live_threads() : b.expected);
}

// Threads that wait keep the generation they arrived in as the fragment's token.
Step named_barrier(Execution& x) {
  const auto s = x.in.settings<NamedSettings>();
  if (s.aligned && !x.gathered(kAllLanes)) return x.gather(kAllLanes);
  const std::uint32_t id = x.source<std::uint32_t>(0)[x.lowest_lane()];
  if (id >= 16) return x.fault(FaultKind::illegal_operand, "barrier " + std::to_string(id) + "; allowed: 0 to 15");
  NamedBarrier& b = x.cta().named[id];
  if (x.fragment.token != 0) {
    if (x.fragment.token == b.generation && complete(b, x.cta())) release(b, x.cluster());  // others have exited since
    return x.fragment.token != b.generation ? Step::next : x.block(WaitKind::named_barrier, id);
  }
  const std::uint32_t count = s.has_count ? x.source<std::uint32_t>(1)[x.lowest_lane()] : 0;
  if (s.has_count && (count == 0 || count % kWarpSize != 0))
    return x.fault(FaultKind::illegal_operand, "barrier " + std::to_string(id) + " for " + std::to_string(count) +
                                                   " threads; a multiple of 32 is needed");
  if (b.arrived != 0 && (b.whole_cta == s.has_count || b.expected != count))
    return x.fault(FaultKind::barrier_misuse, "barrier " + std::to_string(id) + " is in use for " + std::to_string(b.expected) +
                                                  " threads and joined for " + std::to_string(count));
  b.whole_cta = !s.has_count;
  b.expected = count;
  const auto threads = static_cast<std::uint32_t>(std::popcount(x.mask));
  b.arrived += threads;
  if (s.has_count && b.arrived > count)
    return x.fault(FaultKind::barrier_misuse, std::to_string(b.arrived) + " threads arrived at barrier " + std::to_string(id) +
                                                  ", which expects " + std::to_string(count));
  x.fragment.token = b.generation;
  if (complete(b, x.cta())) {
    release(b, x.cluster());
    return Step::next;
  }
  return s.waits ? x.block(WaitKind::named_barrier, id) : Step::next;
}

// barrier.cluster: all threads of the cluster that have not exited.
std::uint32_t live_threads(const Cluster& cluster) {
  std::uint32_t count = 0;
  for (const auto& cta : cluster.ctas) count += cta->live_threads();
  return count;
}

void release_if_complete(Cluster& cluster) {
  if (cluster.cluster_arrived == 0 || cluster.cluster_arrived < live_threads(cluster)) return;
  cluster.cluster_arrived = 0;
  ++cluster.cluster_generation;
  ++cluster.changes;
}

struct ClusterSettings {
  bool arrive, aligned;
};

Step cluster_barrier(Execution& x) {
  const auto s = x.in.settings<ClusterSettings>();
  Cluster& cluster = x.cluster();
  if (s.aligned && !x.gathered(kAllLanes)) return x.gather(kAllLanes);
  if (s.arrive) {
    for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
      std::uint64_t& mine = x.warp.cluster_generation[static_cast<std::size_t>(std::countr_zero(rest))];
      if (mine != 0)
        return x.fault(FaultKind::barrier_misuse, "barrier.cluster.arrive twice without a wait in between");
      mine = cluster.cluster_generation;
    }
    cluster.cluster_arrived += static_cast<std::uint32_t>(std::popcount(x.mask));
    release_if_complete(cluster);
    return Step::next;
  }
  release_if_complete(cluster);
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const std::uint64_t mine = x.warp.cluster_generation[static_cast<std::size_t>(std::countr_zero(rest))];
    if (mine == 0) return x.fault(FaultKind::barrier_misuse, "barrier.cluster.wait without an arrive");
    if (mine == cluster.cluster_generation) return x.block(WaitKind::cluster_barrier);
  }
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1)
    x.warp.cluster_generation[static_cast<std::size_t>(std::countr_zero(rest))] = 0;
  return Step::next;
}

struct MapSettings {
  std::uint64_t window;  // added to generic results
};

// mapa: the same offset in CTA `rank` of the cluster.
template <class T>
Step map_address(Execution& x) {
  const auto s = x.in.settings<MapSettings>();
  const T* a = x.source<T>(1);
  const auto* rank = x.source<std::uint32_t>(2);
  T* d = x.destination<T>();
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    if (rank[l] >= x.cluster().ctas.size())
      return x.fault(FaultKind::illegal_operand, "mapa to rank " + std::to_string(rank[l]) + " of a cluster of " +
                                                     std::to_string(x.cluster().ctas.size()));
    const std::uint64_t offset = a[l] & ((1u << kRankShift) - 1);
    d[l] = static_cast<T>(s.window | std::uint64_t{rank[l]} << kRankShift | offset);
  }
  return Step::next;
}

template <class T>
Step get_rank(Execution& x) {
  const T* a = x.source<T>(1);
  auto* d = x.destination<std::uint32_t>();
  for_lanes(x.mask, [=](unsigned l) { d[l] = (static_cast<std::uint32_t>(a[l]) >> kRankShift) & 0xFF; });
  return Step::next;
}

void decode_named(InstructionDecoder& d) {
  const bool is_bar = d.name() == "bar";
  const bool sync = d.take("sync"), arrive = d.take("arrive");
  d.ignore({"cta"});
  const bool aligned = d.take("aligned") || is_bar;
  if (sync == arrive) return d.fail("sync and arrive are modelled");
  const bool has_count = d.num_operands() > 1;
  d.add(0, 4);
  if (has_count) d.add(1, 4);
  d.out().set(NamedSettings{sync, aligned, has_count});
  d.handler(named_barrier);
}

void decode_map(InstructionDecoder& d) {
  const bool shared = d.take("shared::cluster");
  const auto type = d.take_type();
  if (!type) return;
  const unsigned bytes = bytes_of(*type);
  if (d.name() == "mapa") {
    d.add(0, bytes);
    d.add(1, bytes);
    d.add(2, 4);
    d.out().set(MapSettings{shared ? 0 : kSharedWindow});
    d.handler(bytes == 8 ? map_address<std::uint64_t> : map_address<std::uint32_t>);
  } else {
    d.add(0, 4);
    d.add(1, bytes);
    d.handler(bytes == 8 ? get_rank<std::uint64_t> : get_rank<std::uint32_t>);
  }
}

}  // namespace

bool decode_barrier(InstructionDecoder& d) {
  const std::string_view n = d.name();
  if (n == "bar" && d.take("warp")) {
    d.ignore({"sync"});
    d.add(0, 4);
    d.handler(warp_barrier);
  } else if (n == "barrier" && d.take("cluster")) {
    const bool arrive = d.take("arrive");
    if (!arrive && !d.take("wait")) return true;
    d.ignore({"release", "relaxed", "acquire"});
    d.out().set(ClusterSettings{arrive, d.take("aligned")});
    d.handler(cluster_barrier);
  } else if (n == "bar" || n == "barrier") {
    decode_named(d);
  } else if (n == "mapa" || n == "getctarank") {
    decode_map(d);
  } else {
    return false;
  }
  return true;
}

}  // namespace mlaindex::emulator
