// cp.async.bulk: tensor and linear copies, their groups and prefetches.
#include <algorithm>
#include <bit>

#include "emulator/lane_ops.h"
#include "emulator/memory_access.h"
#include "emulator/tma.h"

namespace mlaindex::emulator {
namespace {

struct CopySettings {
  std::uint32_t rank;   // of a tensor copy
  bool gather, multicast, add;
  bool cta_pair;        // .cta_group::2: the barrier may be the peer's
};

// The CTA-relative parts of a copy into shared memory.
struct Destination {
  Cta* cta;
  std::uint32_t data, barrier;
  Cta* barrier_cta;
};

bool destinations(Execution& x, const CopySettings& s, unsigned lane, std::uint32_t bytes, std::uint32_t alignment,
                  std::size_t barrier_address, std::vector<Destination>& out) {
  std::uint32_t data = 0, barrier = 0;
  Cta* cta = cluster_shared(x, x.address(x.in.addresses[0], lane), bytes, alignment, data);
  if (cta == nullptr) return false;
  Cta* barrier_cta = cluster_shared(x, x.address(x.in.addresses[barrier_address], lane), 8, 8, barrier);
  if (barrier_cta == nullptr) return false;
  if (s.multicast) {
    const std::uint32_t mask = *(x.source<std::uint16_t>(x.in.operands.back()) + lane);
    if (mask == 0 || static_cast<std::size_t>(std::bit_width(mask)) > x.cluster().ctas.size()) {
      x.fault(FaultKind::illegal_operand, "a multicast mask of " + hex(mask) + " in a cluster of " + std::to_string(x.cluster().ctas.size()));
      return false;
    }
    for (std::uint32_t rank = 0; rank < x.cluster().ctas.size(); ++rank)
      if ((mask >> rank) & 1) {
        Cta* target = x.cluster().ctas[rank].get();
        // With .cta_group::2 the barrier is that of the pair's even CTA where the address says so.
        Cta* signalled = s.cta_pair && barrier_cta->rank % 2 == 0 && cta->rank != barrier_cta->rank
                             ? x.cluster().ctas[rank & ~1u].get() : target;
        out.push_back({target, data, barrier, signalled});
      }
  } else {
    if (barrier_cta != cta && !s.cta_pair) {
      x.fault(FaultKind::illegal_operand, "the data goes to another CTA than its mbarrier");
      return false;
    }
    out.push_back({cta, data, barrier, barrier_cta});
  }
  for (const Destination& d : out)
    if (!check_signalled(x, *d.barrier_cta, d.barrier)) return false;
  return true;
}

void signal(const Destination& d, std::uint32_t bytes, const Warp* warp, std::uint32_t line) {
  Mbarrier* barrier = d.barrier_cta->mbarrier(d.barrier);
  if (barrier == nullptr)
    return d.barrier_cta->report(FaultKind::barrier_misuse, true, warp, "the mbarrier of a copy was invalidated before it completed", line);
  const Status status = barrier->complete_tx(bytes);
  if (!status.ok()) d.barrier_cta->report(FaultKind::byte_count, true, warp, status.error().text(), line);
}

// The parameters behind a tensor map's address.
bool read_map(Execution& x, const AddressOperand& address, unsigned lane, TensorMapParams& map) {
  const std::uint64_t at = x.address(address, lane);
  if (at % 64 != 0) {
    x.fault(FaultKind::misaligned, "a tensor map at " + hex(at) + "; 64-byte alignment is needed");
    return false;
  }
  std::array<std::byte, 128> bytes;
  for (std::uint32_t part = 0; part < 128; part += 16) {
    const Location place = locate(x, Space::generic, at + part, lane, 16, false);
    if (place.data == nullptr) return false;
    std::memcpy(bytes.data() + part, place.data, 16);
  }
  Result<TensorMapParams> parsed = unpack_tensor_map(bytes);
  if (!parsed.ok()) {
    x.fault(FaultKind::illegal_operand, parsed.error().text());
    return false;
  }
  map = *parsed;
  return true;
}

Coordinates coordinates(const Execution& x, std::size_t first, std::uint32_t count, unsigned lane) {
  Coordinates c{};
  for (std::uint32_t i = 0; i < count; ++i) c[i] = x.source<std::int32_t>(first + i)[lane];
  return c;
}

AsyncOperation operation(const Execution& x, const char* engine) {
  AsyncOperation op;
  op.engine = engine;
  op.cta = x.cta().rank;
  op.warp = x.warp.index;
  op.line = x.in.line;
  return op;
}

void begin_write(Execution& x, const std::vector<Destination>& targets, std::uint32_t bytes) {
  for (const Destination& d : targets) {
    Actor who = x.actor();
    if (d.cta != &x.cta()) who.proxy_fence = who.now;  // readers there are ordered by cluster barriers
    x.hazard(d.cta->shared.begin_async_write(d.data, bytes, who));
  }
}

Step tensor_load(Execution& x) {
  const auto s = x.in.settings<CopySettings>();
  for (const AddressOperand& a : x.in.addresses) x.require_written(a);
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    TensorMapParams map;
    if (!read_map(x, x.in.addresses[1], l, map)) return Step::fatal;
    if (map.rank != s.rank)
      return x.fault(FaultKind::illegal_operand, "a " + std::to_string(s.rank) + "-D copy of a map of rank " + std::to_string(map.rank));
    const auto bytes = static_cast<std::uint32_t>(box_bytes(map) * (s.gather ? 4 : 1));
    std::vector<Destination> targets;
    if (!destinations(x, s, l, bytes, 16, 2, targets)) return Step::fatal;
    if (const Status status = check_copy(map, targets[0].data); !status.ok())
      return x.fault(FaultKind::illegal_operand, status.error().text());
    const Coordinates c = coordinates(x, 0, s.gather ? 5 : s.rank, l);
    begin_write(x, targets, bytes);
    AsyncOperation op = operation(x, "TMA load");
    op.complete = [map, c, targets, bytes, gather = s.gather, warp = &x.warp, line = x.in.line] {
      const GlobalMemory& global = warp->cta.cluster.launch.memory;
      for (const Destination& d : targets) {
        const Status status = gather ? gather_to_shared(map, c, global, d.cta->shared, d.data)
                                     : copy_to_shared(map, c, global, d.cta->shared, d.data);
        if (!status.ok()) return d.cta->report(FaultKind::out_of_bounds, true, warp, status.error().text(), line);
        d.cta->shared.end_async_write(d.data, bytes);
        signal(d, bytes, warp, line);
      }
    };
    x.cluster().async.add(std::move(op));
  }
  return Step::next;
}

bool linear_size(Execution& x, std::size_t operand, unsigned lane, std::uint32_t& bytes) {
  bytes = x.source<std::uint32_t>(operand)[lane];
  if (bytes != 0 && bytes % 16 == 0) return true;
  x.fault(FaultKind::illegal_operand, "a bulk copy of " + std::to_string(bytes) + " bytes; a multiple of 16 is needed");
  return false;
}

bool global_range(Execution& x, std::uint64_t address, std::uint32_t bytes, bool write) {
  if (address % 16 != 0) {
    x.fault(FaultKind::misaligned, "a bulk copy at global " + hex(address) + "; 16-byte alignment is needed");
    return false;
  }
  const GlobalMemory& memory = x.cluster().launch.memory;
  const GlobalMemory::Buffer* buffer = memory.find(address, bytes);
  if (buffer != nullptr && (buffer->writable || !write)) return true;
  x.fault(FaultKind::out_of_bounds, "a bulk copy of " + std::to_string(bytes) + " bytes at global " + hex(address) + ": " +
                                        memory.describe(address));
  return false;
}

// cp.async.bulk into shared memory, from global memory or from this CTA's shared memory.
Step linear_load(Execution& x, bool from_shared) {
  const auto s = x.in.settings<CopySettings>();
  for (const AddressOperand& a : x.in.addresses) x.require_written(a);
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    std::uint32_t bytes = 0, source_offset = 0;
    if (!linear_size(x, 0, l, bytes)) return Step::fatal;
    const std::uint64_t source = x.address(x.in.addresses[1], l);
    if (from_shared ? !own_shared(x, source, bytes, 16, source_offset) : !global_range(x, source, bytes, false)) return Step::fatal;
    std::vector<Destination> targets;
    if (!destinations(x, s, l, bytes, 16, 2, targets)) return Step::fatal;
    if (from_shared) x.hazard(x.cta().shared.begin_async_read(source_offset, bytes, x.actor()));
    begin_write(x, targets, bytes);
    AsyncOperation op = operation(x, "bulk load");
    op.complete = [=, warp = &x.warp, line = x.in.line] {
      SharedMemory& own = warp->cta.shared;
      const std::byte* data = from_shared ? own.at(source_offset) : reinterpret_cast<const std::byte*>(source);
      if (from_shared) own.end_async_read(source_offset, bytes);
      for (const Destination& d : targets) {
        std::memcpy(d.cta->shared.at(d.data), data, bytes);
        d.cta->shared.end_async_write(d.data, bytes);
        signal(d, bytes, warp, line);
      }
    };
    x.cluster().async.add(std::move(op));
  }
  return Step::next;
}
Step global_to_shared(Execution& x) { return linear_load(x, false); }
Step shared_to_shared(Execution& x) { return linear_load(x, true); }

// A store in two steps, so that wait_group.read and wait_group differ: the source is read, then the
// destination is written.
template <class Write>
void add_store(Execution& x, unsigned lane, std::uint32_t source, std::uint32_t bytes, Write write) {
  x.hazard(x.cta().shared.begin_async_read(source, bytes, x.actor()));
  if (!x.cta().shared.initialised(source, bytes))
    x.hazard(FaultKind::uninitialised_read, "a bulk store from shared " + hex(source) + ", not all of which was written");
  auto copy = std::make_shared<std::vector<std::byte>>();
  AsyncOperation read = operation(x, "bulk store read");
  read.complete = [copy, source, bytes, warp = &x.warp] {
    SharedMemory& shared = warp->cta.shared;
    copy->assign(shared.at(source), shared.at(source) + bytes);
    shared.end_async_read(source, bytes);
  };
  BulkGroup& group = x.warp.bulk[lane].open;
  const std::uint64_t read_id = x.cluster().async.add(std::move(read));
  group.reads.push_back(read_id);
  AsyncOperation store = operation(x, "bulk store");
  store.after = {read_id};
  store.complete = [copy, write] { write(*copy); };
  group.writes.push_back(x.cluster().async.add(std::move(store)));
}

Step tensor_store(Execution& x) {
  const auto s = x.in.settings<CopySettings>();
  for (const AddressOperand& a : x.in.addresses) x.require_written(a);
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    TensorMapParams map;
    if (!read_map(x, x.in.addresses[0], l, map)) return Step::fatal;
    if (map.rank != s.rank)
      return x.fault(FaultKind::illegal_operand, "a " + std::to_string(s.rank) + "-D store to a map of rank " + std::to_string(map.rank));
    std::uint32_t source = 0;
    const auto bytes = static_cast<std::uint32_t>(box_bytes(map));
    if (!own_shared(x, x.address(x.in.addresses[1], l), bytes, 16, source)) return Step::fatal;
    if (const Status status = check_copy(map, source); !status.ok())
      return x.fault(FaultKind::illegal_operand, status.error().text());
    const Coordinates c = coordinates(x, 0, s.rank, l);
    add_store(x, l, source, bytes, [=, add = s.add, warp = &x.warp, line = x.in.line](const std::vector<std::byte>& data) {
      // The engine reads through an image at the source's address, so that the swizzle phase is kept.
      SharedMemory image(source, source + bytes, 1);
      std::memcpy(image.at(source), data.data(), bytes);
      const Status status = copy_to_global(map, c, warp->cta.cluster.launch.memory, image, source, add);
      if (!status.ok()) warp->cta.report(FaultKind::out_of_bounds, true, warp, status.error().text(), line);
    });
  }
  return Step::next;
}

Step linear_store(Execution& x) {
  for (const AddressOperand& a : x.in.addresses) x.require_written(a);
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    std::uint32_t bytes = 0, source = 0;
    if (!linear_size(x, 0, l, bytes)) return Step::fatal;
    const std::uint64_t target = x.address(x.in.addresses[0], l);
    if (!global_range(x, target, bytes, true) || !own_shared(x, x.address(x.in.addresses[1], l), bytes, 16, source))
      return Step::fatal;
    add_store(x, l, source, bytes, [target](const std::vector<std::byte>& data) {
      std::memcpy(reinterpret_cast<std::byte*>(target), data.data(), data.size());
    });
  }
  return Step::next;
}

Step commit_group(Execution& x) {
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    BulkGroups& groups = x.warp.bulk[static_cast<std::size_t>(std::countr_zero(rest))];
    groups.committed.push_back(std::move(groups.open));
    groups.open = {};
  }
  return Step::next;
}

struct GroupSettings {
  std::uint32_t allowed;
  bool reads_only;
};

Step wait_group(Execution& x) {
  const auto s = x.in.settings<GroupSettings>();
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    BulkGroups& groups = x.warp.bulk[static_cast<std::size_t>(std::countr_zero(rest))];
    for (std::size_t i = 0; i + s.allowed < groups.committed.size(); ++i) {
      const BulkGroup& group = groups.committed[i];
      if (x.cluster().async.any_pending(s.reads_only ? group.reads : group.writes))
        return x.block(WaitKind::bulk_groups, s.allowed);
    }
    while (!s.reads_only && groups.committed.size() > s.allowed) groups.committed.pop_front();
  }
  return Step::next;
}

Step nothing(Execution&) { return Step::next; }

void decode_tensor(InstructionDecoder& d) {
  CopySettings s{};
  const auto dimension = d.take_any({"1d", "2d", "3d", "4d", "5d"});
  if (!dimension) return d.fail("the dimension is missing");
  s.rank = static_cast<std::uint32_t>((*dimension)[0] - '0');
  s.gather = d.take("tile::gather4");
  s.multicast = d.take("multicast::cluster");
  s.cta_pair = d.take("cta_group::2");
  d.ignore({"tile", "cta_group::1", "L2::cache_hint"});
  const bool load = d.take("mbarrier::complete_tx::bytes");
  const bool store = d.take("bulk_group");
  if (load == store) return d.fail("completion by mbarrier or by bulk group is needed");
  d.ignore({"shared::cluster", "shared::cta", "global"});
  s.add = d.take("add");
  if (s.add && !store) return d.fail("a reducing load");
  const ptx::Address* map = d.tensor_address(load ? 1 : 0);
  if (map == nullptr || map->coordinates.empty()) return d.fail("coordinates are missing");
  const std::size_t count = s.gather ? 5 : s.rank;
  std::vector<const ptx::Operand*> coordinates;
  for (const ptx::Operand& c : map->coordinates) {
    if (const auto* list = c.as<ptx::OperandList>())
      for (const ptx::Operand& element : list->elements) coordinates.push_back(&element);
    else
      coordinates.push_back(&c);
  }
  if (coordinates.size() != count) return d.fail(std::to_string(coordinates.size()) + " coordinates for " + std::to_string(count));
  for (const ptx::Operand* c : coordinates) d.out().operands.push_back(d.value(*c, 4));
  d.out().addresses.push_back(d.address(0));
  d.out().addresses.push_back(d.address(1));
  if (load) {
    d.out().addresses.push_back(d.address(2));
    if (s.multicast) d.add(3, 2);
  }
  d.out().set(s);
  d.handler(load ? tensor_load : tensor_store);
}

void decode_linear(InstructionDecoder& d) {
  CopySettings s{};
  s.multicast = d.take("multicast::cluster");
  d.ignore({"L2::cache_hint"});
  const bool load = d.take("mbarrier::complete_tx::bytes");
  if (load == d.take("bulk_group")) return d.fail("completion by mbarrier or by bulk group is needed");
  // Destination first: shared::cluster.global, shared::cluster.shared::cta or global.shared::cta.
  const bool global = d.take("global");
  d.ignore({"shared::cluster", "shared::cta"});
  d.out().addresses.push_back(d.address(0));
  d.out().addresses.push_back(d.address(1));
  d.add(2, 4);
  if (load) {
    d.out().addresses.push_back(d.address(3));
    if (s.multicast) d.add(4, 2);
  }
  d.out().set(s);
  d.handler(!load ? linear_store : global ? global_to_shared : shared_to_shared);
}

}  // namespace

bool decode_bulk_copy(InstructionDecoder& d) {
  if (d.name() != "cp" || !d.has("bulk")) return false;
  d.ignore({"async", "bulk"});
  const bool reduce = d.take("reduce");
  if (d.take("commit_group")) {
    d.handler(commit_group);
  } else if (d.take("wait_group")) {
    const auto allowed = d.integer(0);
    if (!allowed || *allowed < 0) { d.fail("the group count must be an immediate"); return true; }
    d.out().set(GroupSettings{static_cast<std::uint32_t>(*allowed), d.take("read")});
    d.handler(wait_group);
  } else if (d.take("prefetch")) {
    while (!d.modifiers().empty()) (void)d.take(d.modifiers().front());
    d.handler(nothing);
  } else if (d.take("tensor")) {
    if (reduce && !d.has("add")) { d.fail("reducing stores other than .add are not modelled"); return true; }
    decode_tensor(d);
  } else if (reduce) {
    d.fail("linear reducing copies are not modelled");
  } else {
    decode_linear(d);
  }
  return true;
}

}  // namespace mlaindex::emulator
