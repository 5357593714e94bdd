// Bulk copies into shared memory, and the operands that all bulk copies check.
#include <bit>

#include "emulator/bulk_copy.h"

namespace mlaindex::emulator {
namespace {

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

void begin_write(Execution& x, const std::vector<Destination>& targets, const std::vector<SharedRange>& ranges) {
  for (const Destination& d : targets) {
    Actor who = x.actor();
    if (d.cta != &x.cta()) who.proxy_fence = who.now;  // readers there are ordered by cluster barriers
    for (const SharedRange& range : ranges) x.hazard(d.cta->shared.begin_async_write(range.address, range.bytes, who));
  }
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
    if (from_shared ? !own_shared(x, source, bytes, 16, source_offset) : !global_range(x, source, l, bytes, false)) return Step::fatal;
    std::vector<Destination> targets;
    if (!destinations(x, s, l, bytes, 16, 2, targets)) return Step::fatal;
    if (from_shared) x.hazard(x.cta().shared.begin_async_read(source_offset, bytes, x.actor()));
    begin_write(x, targets, {{targets[0].data, bytes}});
    AsyncOperation op = x.operation("bulk load");
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
}  // namespace

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

Step bulk_tensor_load(Execution& x) {
  const auto s = x.in.settings<CopySettings>();
  for (const AddressOperand& a : x.in.addresses) x.require_written(a);
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    TensorMapParams map;
    check_launch_order(x, l);
    if (!read_map(x, x.in.addresses[1], l, map)) return Step::fatal;
    if (map.rank != s.rank)
      return x.fault(FaultKind::illegal_operand, "a " + std::to_string(s.rank) + "-D copy of a map of rank " + std::to_string(map.rank));
    const std::uint32_t num_boxes = s.gather ? 4 : 1;
    const auto bytes = static_cast<std::uint32_t>(box_bytes(map) * num_boxes);
    std::vector<Destination> targets;
    if (!destinations(x, s, l, shared_bytes(map, num_boxes), 16, 2, targets)) return Step::fatal;
    if (const Status status = check_copy(map, targets[0].data); !status.ok())
      return x.fault(FaultKind::illegal_operand, status.error().text());
    const Coordinates c = coordinates(x, 0, s.gather ? 5 : s.rank, l);
    if (const Status status = check_start(map, c, false); !status.ok())
      return x.fault(FaultKind::illegal_operand, status.error().text());
    const std::vector<SharedRange> ranges = shared_ranges(map, num_boxes, targets[0].data);
    begin_write(x, targets, ranges);
    AsyncOperation op = x.operation("TMA load");
    op.complete = [map, c, targets, ranges, bytes, gather = s.gather, warp = &x.warp, line = x.in.line] {
      const GlobalMemory& global = warp->cta.cluster.launch.memory;
      for (const Destination& d : targets) {
        const Status status = gather ? gather_to_shared(map, c, global, d.cta->shared, d.data)
                                     : copy_to_shared(map, c, global, d.cta->shared, d.data);
        if (!status.ok()) return d.cta->report(FaultKind::out_of_bounds, true, warp, status.error().text(), line);
        for (const SharedRange& range : ranges) d.cta->shared.end_async_write(range.address, range.bytes);
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

bool global_range(Execution& x, std::uint64_t address, unsigned lane, std::uint32_t bytes, bool write) {
  check_launch_order(x, lane);
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

Step bulk_load_global(Execution& x) { return linear_load(x, false); }
Step bulk_load_shared(Execution& x) { return linear_load(x, true); }

}  // namespace mlaindex::emulator
