#include "emulator/memory_access.h"

namespace mlaindex::emulator {
namespace {

Location failed(Execution& x, FaultKind kind, std::string message) {
  x.fault(kind, std::move(message));
  return {};
}

std::string lane_text(unsigned lane) { return ", lane " + std::to_string(lane); }

Location in_shared(Execution& x, std::uint64_t address, unsigned lane, std::uint32_t bytes, bool cluster) {
  const auto address32 = static_cast<std::uint32_t>(address);
  const std::uint32_t offset = address32 & ((1u << kRankShift) - 1);
  Cta* cta = address >> 32 == 0 ? x.cluster().cta_of(address32) : nullptr;
  if (cta == nullptr || (!cluster && cta != &x.cta()))
    return failed(x, FaultKind::out_of_bounds, "shared address " + hex(address) + " is not in this " +
                                                   (cluster ? "cluster" : "CTA") + lane_text(lane));
  if (!cta->shared.contains(offset, bytes))
    return failed(x, FaultKind::out_of_bounds, std::to_string(bytes) + " bytes at shared " + hex(offset) + lane_text(lane) +
                                                   "; the CTA has " + hex(cta->shared.first()) + " to " + hex(cta->shared.end()));
  return {cta->shared.at(offset), cta, offset};
}

Location in_global(Execution& x, std::uint64_t address, unsigned lane, std::uint32_t bytes, bool write) {
  check_launch_order(x, lane);
  const GlobalMemory& memory = x.cluster().launch.memory;
  const GlobalMemory::Buffer* buffer = memory.find(address, bytes);
  if (buffer == nullptr)
    return failed(x, FaultKind::out_of_bounds, std::to_string(bytes) + " bytes at global " + hex(address) + lane_text(lane) +
                                                   ": " + memory.describe(address));
  if (write && !buffer->writable)
    return failed(x, FaultKind::out_of_bounds, "a write to the read-only buffer '" + buffer->name + "'" + lane_text(lane));
  return {reinterpret_cast<std::byte*>(address)};
}

Location in_param(Execution& x, std::uint64_t address, std::uint32_t bytes, bool write) {
  const auto& params = x.cluster().launch.spec.params;
  if (write || address + bytes > x.cluster().launch.program.param_bytes)
    return failed(x, FaultKind::out_of_bounds, std::to_string(bytes) + " bytes at parameter offset " + std::to_string(address));
  return {const_cast<std::byte*>(params.data()) + address};
}

Location in_local(Execution& x, std::uint64_t address, unsigned lane, std::uint32_t bytes) {
  const std::uint32_t size = x.cluster().launch.program.local_bytes;
  if (address + bytes > size)
    return failed(x, FaultKind::out_of_bounds, std::to_string(bytes) + " bytes at local " + hex(address) + lane_text(lane) +
                                                   "; the thread has " + std::to_string(size));
  return {x.warp.local.data() + std::size_t{lane} * size + address};
}

}  // namespace

Location locate(Execution& x, Space space, std::uint64_t address, unsigned lane, std::uint32_t bytes, bool write) {
  if (address % bytes != 0)
    return failed(x, FaultKind::misaligned, std::to_string(bytes) + " bytes at address " + hex(address) + lane_text(lane));
  switch (space) {
    case Space::shared: return in_shared(x, address, lane, bytes, false);
    case Space::shared_cluster: return in_shared(x, address, lane, bytes, true);
    case Space::param: return in_param(x, address, bytes, write);
    case Space::local: return in_local(x, address, lane, bytes);
    case Space::global: return in_global(x, address, lane, bytes, write);
    case Space::generic: break;
  }
  switch (address & kWindowMask) {
    case kSharedWindow: return in_shared(x, address & ~kWindowMask, lane, bytes, true);
    case kLocalWindow: return in_local(x, address & ~kWindowMask, lane, bytes);
    case kParamWindow: return in_param(x, address & ~kWindowMask, bytes, write);
    default: return in_global(x, address, lane, bytes, write);
  }
}

void check_launch_order(Execution& x, unsigned lane) {
  if (!x.cluster().launch.program.waits_for_launches || (x.warp.earlier_launches_done >> lane & 1) != 0) return;
  x.hazard(FaultKind::launch_overlap, "global memory is touched" + lane_text(lane) +
                                          ", by a thread that has not waited for earlier launches: griddepcontrol.wait");
}

void note_read(Execution& x, const Location& at, std::uint32_t bytes) {
  if (at.cta == nullptr) return;
  if (at.cta->overlaps_mbarrier(at.shared_address, bytes))
    x.hazard(FaultKind::barrier_misuse, "an ordinary load of the mbarrier at shared " + hex(at.shared_address));
  // Another CTA's warps have numbers of their own; only this CTA's accesses are tracked by warp.
  if (at.cta == &x.cta()) x.hazard(at.cta->shared.generic_read(at.shared_address, bytes, x.actor()));
}

void note_write(Execution& x, const Location& at, std::uint32_t bytes) {
  if (at.cta == nullptr) return;
  if (at.cta->overlaps_mbarrier(at.shared_address, bytes))
    x.hazard(FaultKind::barrier_misuse, "an ordinary store over the mbarrier at shared " + hex(at.shared_address));
  if (at.cta == &x.cta()) x.hazard(at.cta->shared.generic_write(at.shared_address, bytes, x.actor()));
  else at.cta->shared.set_initialised(at.shared_address, bytes);
}

Cta* cluster_shared(Execution& x, std::uint64_t address, std::uint32_t bytes, std::uint32_t alignment,
                    std::uint32_t& offset) {
  if ((address & kWindowMask) == kSharedWindow) address &= ~kWindowMask;
  const auto address32 = static_cast<std::uint32_t>(address);
  offset = address32 & ((1u << kRankShift) - 1);
  Cta* cta = address >> 32 == 0 ? x.cluster().cta_of(address32) : nullptr;
  if (cta == nullptr || !cta->shared.contains(offset, bytes)) {
    x.fault(FaultKind::out_of_bounds, std::to_string(bytes) + " bytes at shared address " + hex(address) +
                                          "; a CTA has " + hex(x.cta().shared.first()) + " to " + hex(x.cta().shared.end()));
    return nullptr;
  }
  if (offset % alignment != 0) {
    x.fault(FaultKind::misaligned, "shared address " + hex(address) + " is not a multiple of " + std::to_string(alignment));
    return nullptr;
  }
  return cta;
}

bool check_signalled(Execution& x, Cta& cta, std::uint32_t offset) {
  Cta::MbarrierOrigin* origin = cta.mbarrier_origin(offset);
  if (origin == nullptr) {
    x.fault(FaultKind::barrier_misuse, "no mbarrier was initialised at shared " + hex(offset));
    return false;
  }
  if (!origin->fenced)
    x.hazard(FaultKind::missing_fence, "the mbarrier at shared " + hex(offset) + " is signalled by asynchronous work, and warp " +
                                           std::to_string(origin->warp) + ", which initialised it, executed no fence.mbarrier_init since");
  return true;
}

bool own_shared(Execution& x, std::uint64_t address, std::uint32_t bytes, std::uint32_t alignment, std::uint32_t& offset) {
  Cta* cta = cluster_shared(x, address, bytes, alignment, offset);
  if (cta != nullptr && cta != &x.cta()) {
    x.fault(FaultKind::out_of_bounds, "shared address " + hex(address) + " belongs to another CTA");
    return false;
  }
  return cta != nullptr;
}

}  // namespace mlaindex::emulator
