#include "emulator/warp.h"

#include <algorithm>
#include <bit>

#include "emulator/execution.h"

namespace mlaindex::emulator {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};

Fragment fragment_at(LaneMask mask, std::uint32_t pc) {
  Fragment f;
  f.mask = mask;
  f.pc = pc;
  return f;
}

std::uint64_t special_value(Special special, const Cta& cta, std::uint32_t warp, unsigned lane) {
  const Launch& launch = cta.cluster.launch;
  const Dim3& block = launch.spec.block;
  const Dim3& grid = launch.spec.grid;
  const Dim3& shape = launch.cluster;
  const std::uint32_t thread = warp * kWarpSize + lane;
  const std::uint64_t cluster = cta.cluster.index;
  const auto low_lanes = [lane] { return (LaneMask{1} << lane) - 1; };
  switch (special) {
    case Special::tid_x: return thread % block.x;
    case Special::tid_y: return thread / block.x % block.y;
    case Special::tid_z: return thread / (block.x * block.y);
    case Special::ntid_x: return block.x;
    case Special::ntid_y: return block.y;
    case Special::ntid_z: return block.z;
    case Special::ctaid_x: return cta.coordinates[0];
    case Special::ctaid_y: return cta.coordinates[1];
    case Special::ctaid_z: return cta.coordinates[2];
    case Special::nctaid_x: return grid.x;
    case Special::nctaid_y: return grid.y;
    case Special::nctaid_z: return grid.z;
    case Special::laneid: return lane;
    case Special::warpid: return warp;
    case Special::nwarpid: return launch.num_warps();
    case Special::smid: return cluster % 148;
    case Special::nsmid: return 148;
    case Special::gridid: return 1;
    case Special::lanemask_eq: return LaneMask{1} << lane;
    case Special::lanemask_lt: return low_lanes();
    case Special::lanemask_le: return low_lanes() | LaneMask{1} << lane;
    case Special::lanemask_gt: return ~(low_lanes() | LaneMask{1} << lane);
    case Special::lanemask_ge: return ~low_lanes();
    case Special::clusterid_x: return cta.coordinates[0] / shape.x;
    case Special::clusterid_y: return cta.coordinates[1] / shape.y;
    case Special::clusterid_z: return cta.coordinates[2] / shape.z;
    case Special::nclusterid_x: return launch.cluster_grid.x;
    case Special::nclusterid_y: return launch.cluster_grid.y;
    case Special::nclusterid_z: return launch.cluster_grid.z;
    case Special::cluster_ctaid_x: return cta.coordinates[0] % shape.x;
    case Special::cluster_ctaid_y: return cta.coordinates[1] % shape.y;
    case Special::cluster_ctaid_z: return cta.coordinates[2] % shape.z;
    case Special::cluster_nctaid_x: return shape.x;
    case Special::cluster_nctaid_y: return shape.y;
    case Special::cluster_nctaid_z: return shape.z;
    case Special::cluster_ctarank: return cta.rank;
    case Special::cluster_nctarank: return shape.count();
    case Special::is_explicit_cluster: return shape.count() > 1;
    case Special::dynamic_smem_size: return launch.spec.dynamic_shared_bytes;
    case Special::total_smem_size: return (launch.shared_end - launch.program.shared_base + 127) / 128 * 128;
    default: return 0;  // clocks are read when they are executed
  }
}

}  // namespace

Warp::Warp(Cta& owner, std::uint32_t warp_index, LaneMask lanes, const Program& program)
    : cta(owner), index(warp_index), program_(program), storage_(program.file_bytes + 64),
      initialised_(program.num_slots), written_at_(program.num_slots), live_(lanes) {
  const auto start = reinterpret_cast<std::uintptr_t>(storage_.data());
  file_ = storage_.data() + ((64 - start % 64) % 64);
  for (const SpecialSlot& slot : program.specials)
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      const std::uint64_t value = special_value(slot.special, cta, index, lane);
      std::memcpy(file_ + slot.operand.offset + lane * slot.operand.bytes, &value, slot.operand.bytes);
    }
  for (const SharedSymbolSlot& slot : program.shared_symbols)
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      const std::uint64_t value = slot.address | std::uint64_t{cta.rank} << kRankShift;
      std::memcpy(file_ + slot.operand.offset + lane * slot.operand.bytes, &value, slot.operand.bytes);
    }
  local.resize(std::size_t{program.local_bytes} * kWarpSize);
  bulk.resize(kWarpSize);
  fragments_.push_back(fragment_at(lanes, 0));
}

bool Warp::ready(const Fragment& f) const noexcept {
  return f.held_until <= cta.cluster.now && (!f.blocked || f.seen != cta.cluster.changes);
}

bool Warp::release_held() noexcept {
  bool any = false;
  for (Fragment& f : fragments_) {
    any = any || f.held_until > cta.cluster.now;
    f.held_until = 0;
  }
  return any;
}

// Splits the first fragment that can run; the part that falls behind is one lane, all but one, or any.
void Warp::let_lanes_fall_behind() {
  Random& random = cta.cluster.schedule.random();
  for (Fragment& f : fragments_) {
    if (!ready(f) || f.blocked || f.token != 0 || std::has_single_bit(f.mask)) continue;
    const LaneMask lowest = f.mask & -f.mask;
    const std::uint32_t kind = random.below(3);
    const LaneMask part = kind == 0   ? f.mask & ~lowest
                          : kind == 1 ? lowest
                                      : f.mask & static_cast<LaneMask>(random.next());
    if (part == 0 || part == f.mask) return;
    Fragment behind = fragment_at(part, f.pc);
    const std::uint64_t lag = cta.cluster.schedule.lag();
    behind.held_until = lag == ~std::uint64_t{0} ? lag : cta.cluster.now + lag;
    f.mask &= ~part;
    fragments_.push_back(behind);
    return;
  }
}

bool Warp::runnable() const noexcept {
  return std::any_of(fragments_.begin(), fragments_.end(), [this](const Fragment& f) { return ready(f); });
}

// The lowest program counter first, so that lanes meet again where the code does; now and then
// another one, since lanes may progress in any order.
std::size_t Warp::choose() noexcept {
  if (fragments_.size() == 1) return ready(fragments_[0]) ? 0 : kNone;
  std::size_t best = kNone, count = 0;
  for (std::size_t i = 0; i < fragments_.size(); ++i) {
    if (!ready(fragments_[i])) continue;
    ++count;
    if (best == kNone || fragments_[i].pc < fragments_[best].pc) best = i;
  }
  Random& random = cta.cluster.schedule.random();
  if (count > 1 && random.below(16) == 0) {
    const std::size_t other = random.below(static_cast<std::uint32_t>(fragments_.size()));
    if (ready(fragments_[other])) return other;
  }
  return best;
}

// Joins the fragments that stand where fragment `at` stands.
void Warp::merge(std::size_t at) noexcept {
  Fragment& f = fragments_[at];
  for (std::size_t i = 0; i < fragments_.size(); ++i) {
    const Fragment& other = fragments_[i];
    if (i == at || other.pc != f.pc || other.token != f.token || other.held_until > cta.cluster.now) continue;
    f.mask |= fragments_[i].mask;
    f.blocked = false;
    fragments_[i].mask = 0;
  }
  std::erase_if(fragments_, [](const Fragment& gone) { return gone.mask == 0; });
}

void Warp::block(Fragment& f) {
  if (!f.blocked) f.blocked_since = cta.cluster.now;
  f.blocked = true;
  f.seen = cta.cluster.changes;
}

// Moves the fragment on. False when the warp must stop running for now.
bool Warp::finish_step(std::size_t& at, Step step, const Execution& x) {
  Fragment& f = fragments_[at];
  f.token = 0;
  switch (step) {
    case Step::branch:
      if (x.taken == f.mask) {
        f.pc = x.in.target;
      } else {
        const Fragment other = fragment_at(x.taken, x.in.target);
        f.mask &= ~x.taken;
        ++f.pc;
        if (other.mask != 0) fragments_.push_back(other);
      }
      break;
    case Step::exited:
      live_ &= ~x.mask;
      f.mask &= ~x.mask;
      ++f.pc;
      ++cta.cluster.changes;
      if (f.mask == 0) {
        fragments_.erase(fragments_.begin() + static_cast<std::ptrdiff_t>(at));
        at = fragments_.empty() ? kNone : choose();
        return at != kNone;
      }
      break;
    default: ++f.pc; break;
  }
  if (fragments_.size() > 1) {
    merge(at);
    at = choose();
  }
  return step != Step::yield && at != kNone;
}

std::uint32_t Warp::run(std::uint32_t slice) {
  Cluster& cluster = cta.cluster;
  if (cluster.schedule.lanes_fall_behind()) let_lanes_fall_behind();
  std::size_t at = fragments_.empty() ? kNone : choose();
  std::uint32_t done = 0;
  while (at != kNone && done < slice) {
    Fragment& f = fragments_[at];
    const Instruction& in = program_.instructions[f.pc];
    current = &in;
    Execution x{.warp = *this, .fragment = f, .in = in, .constants = program_.constants.data(), .mask = f.mask};
    if (!in.guard.none) x.mask &= x.predicate(in.guard);
    const Step step = x.mask == 0 ? Step::next : in.handler(x);
    if (step == Step::fatal) return done;
    if (step == Step::blocked) {
      block(f);
      if (fragments_.size() > 1) merge(at);  // lanes that fell behind may have waited here
      at = choose();
      continue;
    }
    if (f.blocked) {
      cluster.note_stall(*this, f);
      f.blocked = false;
    }
    ++done;
    ++cluster.now;
    ++cluster.counts[f.pc];
    if (cluster.timeline) cluster.timeline->note_phases();
    if (!finish_step(at, step, x)) break;
  }
  return done;
}

void Warp::report_unready(const Operand& operand, LaneMask missing) {
  const auto slot = operand.slot;
  const std::string name = program_.slot_names[static_cast<std::size_t>(slot)];
  const auto holds = [slot](const PendingRegisters& p) {
    return std::find(p.slots.begin(), p.slots.end(), slot) != p.slots.end();
  };
  const auto load = std::find_if(tensor_loads.begin(), tensor_loads.end(),
                                 [slot](const TensorLoad& l) { return l.find(slot) != nullptr; });
  if (load != tensor_loads.end()) {
    cta.cluster.async.force(load->operation);  // a true dependency is honoured, but orders nothing else
    cta.report(FaultKind::result_before_wait, false, this, "register " + name + " of a tcgen05.ld used before tcgen05.wait::ld");
  } else {
    bool pending = std::any_of(wgmma_open.begin(), wgmma_open.end(), holds);
    for (const auto& group : wgmma_groups) pending = pending || std::any_of(group.begin(), group.end(), holds);
    if (pending)
      cta.report(FaultKind::result_before_wait, false, this,
                 "register " + name + " of a wgmma used before wgmma.wait_group covers it");
    else
      cta.report(FaultKind::uninitialised_read, false, this,
                 "register " + name + " was never written in lane " + std::to_string(std::countr_zero(missing)));
  }
  initialised(slot) |= missing;
}

}  // namespace mlaindex::emulator
