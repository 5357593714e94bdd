// Bulk copies out of shared memory, and the groups they are waited for by.
#include <bit>

#include "emulator/bulk_copy.h"

namespace mlaindex::emulator {
namespace {

// A store in two steps, so that wait_group.read and wait_group differ: the source is read, then the
// destination is written.
template <class Write>
void add_store(Execution& x, unsigned lane, std::uint32_t source, std::uint32_t bytes, Write write) {
  x.hazard(x.cta().shared.begin_async_read(source, bytes, x.actor()));
  if (!x.cta().shared.initialised(source, bytes))
    x.hazard(FaultKind::uninitialised_read, "a bulk store from shared " + hex(source) + ", not all of which was written");
  auto copy = std::make_shared<std::vector<std::byte>>();
  AsyncOperation read = x.operation("bulk store read");
  read.complete = [copy, source, bytes, warp = &x.warp] {
    SharedMemory& shared = warp->cta.shared;
    copy->assign(shared.at(source), shared.at(source) + bytes);
    shared.end_async_read(source, bytes);
  };
  BulkGroup& group = x.warp.bulk[lane].open;
  const std::uint64_t read_id = x.cluster().async.add(std::move(read));
  group.reads.push_back(read_id);
  AsyncOperation store = x.operation("bulk store");
  store.after = {read_id};
  store.complete = [copy, write] { write(*copy); };
  group.writes.push_back(x.cluster().async.add(std::move(store)));
}

}  // namespace

Step bulk_tensor_store(Execution& x) {
  const auto s = x.in.settings<CopySettings>();
  for (const AddressOperand& a : x.in.addresses) x.require_written(a);
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    TensorMapParams map;
    check_launch_order(x, l);
    if (!read_map(x, x.in.addresses[0], l, map)) return Step::fatal;
    if (map.rank != s.rank)
      return x.fault(FaultKind::illegal_operand, "a " + std::to_string(s.rank) + "-D store to a map of rank " + std::to_string(map.rank));
    std::uint32_t source = 0;
    const auto bytes = static_cast<std::uint32_t>(box_bytes(map));
    if (!own_shared(x, x.address(x.in.addresses[1], l), bytes, 16, source)) return Step::fatal;
    if (const Status status = check_copy(map, source); !status.ok())
      return x.fault(FaultKind::illegal_operand, status.error().text());
    if (shared_bytes(map, 1) != bytes)
      return x.fault(FaultKind::illegal_operand, "a store of swizzled box rows shorter than the swizzle span: only loads of such rows were measured");
    const Coordinates c = coordinates(x, 0, s.rank, l);
    if (const Status status = check_start(map, c, true); !status.ok())
      return x.fault(FaultKind::illegal_operand, status.error().text());
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

Step bulk_store(Execution& x) {
  for (const AddressOperand& a : x.in.addresses) x.require_written(a);
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    std::uint32_t bytes = 0, source = 0;
    if (!linear_size(x, 0, l, bytes)) return Step::fatal;
    const std::uint64_t target = x.address(x.in.addresses[0], l);
    if (!global_range(x, target, l, bytes, true) || !own_shared(x, x.address(x.in.addresses[1], l), bytes, 16, source))
      return Step::fatal;
    add_store(x, l, source, bytes, [target](const std::vector<std::byte>& data) {
      std::memcpy(reinterpret_cast<std::byte*>(target), data.data(), data.size());
    });
  }
  return Step::next;
}

Step bulk_commit_group(Execution& x) {
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    BulkGroups& groups = x.warp.bulk[static_cast<std::size_t>(std::countr_zero(rest))];
    groups.committed.push_back(std::move(groups.open));
    groups.open = {};
  }
  return Step::next;
}

Step bulk_wait_group(Execution& x) {
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

}  // namespace mlaindex::emulator
