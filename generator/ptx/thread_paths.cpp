#include "generator/ptx/thread_paths.h"

#include <algorithm>
#include <cstdlib>

#include "generator/ptx/register_values.h"

namespace mlaindex::ptx {
namespace {

constexpr std::uint32_t kWarpSize = 32;
constexpr int kMaxThreads = 1024;

// 0 when there is no directive, or more than one dimension.
std::uint32_t warps_of(const Function& entry) {
  const Directive* directive = entry.find_performance("reqntid");
  if (!directive) directive = entry.find_performance("maxntid");
  if (!directive || directive->arguments.empty()) return 0;
  for (std::size_t i = 1; i < directive->arguments.size(); ++i)
    if (std::atoi(directive->arguments[i].c_str()) != 1) return 0;
  const int threads = std::atoi(directive->arguments[0].c_str());
  if (threads <= 0 || threads > kMaxThreads) return 0;
  return (static_cast<std::uint32_t>(threads) + kWarpSize - 1) / kWarpSize;
}

// Instructions that a thread with these values can execute.
std::vector<bool> executed(const Function& entry, const ControlFlow& flow, const RegisterValues& values) {
  std::vector<bool> seen(flow.num_nodes()), executes(flow.num_nodes());
  std::vector<std::uint32_t> pending{0};
  while (!pending.empty()) {
    const std::uint32_t node = pending.back();
    pending.pop_back();
    if (seen[node]) continue;
    seen[node] = true;
    if (node >= entry.instructions.size()) continue;
    const Instruction& instruction = entry.instructions[node];
    const auto& next = flow.successors(node);
    const auto guard = instruction.guard ? values.constant(Operand{RegisterRef{instruction.guard->register_index}})
                                         : std::nullopt;
    const bool taken = !guard || (*guard != 0) != instruction.guard->negated;
    executes[node] = taken;
    // A guarded branch goes to next[0], or falls through to next[1].
    const bool decided = guard && instruction.opcode.name == "bra" && next.size() == 2;
    if (decided) pending.push_back(next[taken ? 0 : 1]);
    else pending.insert(pending.end(), next.begin(), next.end());
  }
  return executes;
}

}  // namespace

ThreadPaths::ThreadPaths(const Function& entry, const ControlFlow& flow) {
  for (std::uint32_t warp = 0; warp < warps_of(entry); ++warp) {
    const RegisterValues of_warp(entry, BlockThread{warp, std::nullopt}, nullptr);
    const RegisterValues first(entry, BlockThread{warp, 0}, &of_warp);
    const RegisterValues other(entry, BlockThread{warp, 1}, &of_warp);
    first_lane_.push_back(executed(entry, flow, first));
    other_lanes_.push_back(executed(entry, flow, other));
  }
}

std::uint32_t ThreadPaths::threads(std::uint32_t warp, std::span<const std::uint32_t> instructions) const {
  const auto any = [&](const std::vector<bool>& executes) {
    return std::any_of(instructions.begin(), instructions.end(), [&](std::uint32_t i) { return bool{executes[i]}; });
  };
  return (any(first_lane_[warp]) ? 1 : 0) + (any(other_lanes_[warp]) ? kWarpSize - 1 : 0);
}

}  // namespace mlaindex::ptx
