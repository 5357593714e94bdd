#include "emulator/cta.h"

#include <algorithm>
#include <bit>

#include "emulator/cluster.h"

namespace mlaindex::emulator {

Cta::Cta(Cluster& owner, std::uint32_t cta_rank, std::array<std::uint32_t, 3> cta_coordinates)
    : cluster(owner), rank(cta_rank), coordinates(cta_coordinates),
      shared(owner.launch.program.shared_base, owner.launch.shared_end, owner.launch.num_warps()),
      fence_before(owner.launch.num_warps()), mbarrier_index_(owner.launch.shared_end / 8 + 1) {
  const Launch& launch = cluster.launch;
  register_requests.resize(launch.num_warps());
  const auto threads = static_cast<std::uint32_t>(launch.spec.block.count());
  register_pool = launch.registers_per_thread * launch.num_warps() * kWarpSize;
  for (std::uint32_t w = 0; w < launch.num_warps(); ++w) {
    const std::uint32_t lanes = std::min(kWarpSize, threads - w * kWarpSize);
    const LaneMask mask = lanes == kWarpSize ? kAllLanes : (LaneMask{1} << lanes) - 1;
    warps.push_back(std::make_unique<Warp>(*this, w, mask, launch.program));
    warps.back()->registers = launch.registers_per_thread;
  }
}

Mbarrier* Cta::mbarrier(std::uint32_t address) noexcept {
  if (address % 8 != 0 || address / 8 >= mbarrier_index_.size() || mbarrier_index_[address / 8] == 0) return nullptr;
  return &mbarriers_[mbarrier_index_[address / 8] - 1u].second;
}

Cta::MbarrierOrigin* Cta::mbarrier_origin(std::uint32_t address) noexcept {
  return mbarrier(address) == nullptr ? nullptr : &mbarrier_origins_[mbarrier_index_[address / 8] - 1u];
}

void Cta::fence_mbarrier_inits(std::uint32_t warp) noexcept {
  for (MbarrierOrigin& origin : mbarrier_origins_) origin.fenced = origin.fenced || origin.warp == warp;
}

Mbarrier& Cta::make_mbarrier(std::uint32_t address) {
  std::uint16_t& index = mbarrier_index_[address / 8];
  if (index == 0) {
    mbarriers_.emplace_back(address, Mbarrier{});
    mbarrier_origins_.emplace_back();
    index = static_cast<std::uint16_t>(mbarriers_.size());
  }
  return mbarriers_[index - 1u].second;
}

void Cta::drop_mbarrier(std::uint32_t address) noexcept {
  const std::uint16_t index = mbarrier_index_[address / 8];
  if (index == 0) return;
  mbarrier_index_[address / 8] = 0;
  mbarriers_.erase(mbarriers_.begin() + (index - 1));
  mbarrier_origins_.erase(mbarrier_origins_.begin() + (index - 1));
  for (std::uint16_t& other : mbarrier_index_)
    if (other > index) --other;
}

bool Cta::overlaps_mbarrier(std::uint32_t address, std::uint32_t size) const noexcept {
  for (std::uint32_t word = address / 8; word <= (address + size - 1) / 8; ++word)
    if (word < mbarrier_index_.size() && mbarrier_index_[word] != 0) return true;
  return false;
}

std::uint32_t Cta::live_threads() const noexcept {
  std::uint32_t count = 0;
  for (const auto& warp : warps) count += static_cast<std::uint32_t>(std::popcount(warp->live()));
  return count;
}

bool Cta::done() const noexcept {
  return std::all_of(warps.begin(), warps.end(), [](const auto& w) { return w->done(); });
}

std::uint32_t Cta::free_registers() const noexcept {
  std::uint32_t used = 0;
  for (const auto& warp : warps) used += warp->registers * kWarpSize;
  return used > register_pool ? 0 : register_pool - used;
}

void Cta::note_register_request(Warp& warp, std::uint32_t registers) {
  auto& mine = register_requests[warp.index];
  mine.push_back(registers);
  const std::size_t group = warp.index / 4 * 4;
  for (std::size_t w = group; w < std::min<std::size_t>(group + 4, warps.size()); ++w) {
    const auto& other = register_requests[w];
    if (other.size() >= mine.size() && other[mine.size() - 1] != registers)
      return report(FaultKind::register_pool, false, &warp,
                    "asks for " + std::to_string(registers) + " registers where warp " + std::to_string(w) +
                        " of the same warpgroup asks for " + std::to_string(other[mine.size() - 1]));
  }
}

void Cta::check_register_requests() {
  for (std::size_t w = 0; w < warps.size(); ++w)
    if (register_requests[w].size() != register_requests[w / 4 * 4].size())
      report(FaultKind::register_pool, false, warps[w].get(),
             "executed " + std::to_string(register_requests[w].size()) + " setmaxnreg where warp " +
                 std::to_string(w / 4 * 4) + " of the same warpgroup executed " +
                 std::to_string(register_requests[w / 4 * 4].size()));
}

void Cta::report(FaultKind kind, bool fatal, const Warp* warp, std::string message, std::uint32_t line) {
  Fault fault;
  fault.kind = kind;
  fault.fatal = fatal;
  fault.cta = coordinates;
  fault.message = std::move(message);
  fault.line = line;
  if (warp != nullptr) {
    fault.warp = warp->index;
    fault.role = cluster.role(warp->index);
    if (line == 0 && warp->current != nullptr) {
      fault.line = warp->current->line;
      if (warp->current->source != nullptr) fault.instruction = warp->current->source->opcode.text();
    }
  }
  const bool is_new = cluster.faults.add(fault);
  if (is_new && cluster.timeline) cluster.timeline->note_fault(*this, warp, fault);
  if (fatal) cluster.launch.stop = true;
}

}  // namespace mlaindex::emulator
