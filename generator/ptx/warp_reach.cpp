#include "generator/ptx/warp_reach.h"

#include "generator/ptx/register_values.h"

namespace mlaindex::ptx {
namespace {

// Whether the guard lets the instruction execute; nothing when that depends on the lane or on data.
std::optional<bool> executes(const Instruction& instruction, const RegisterValues& values) {
  Operand predicate;
  predicate.value = RegisterRef{instruction.guard->register_index};
  const auto value = values.constant(predicate);
  if (!value) return std::nullopt;
  return (*value != 0) != instruction.guard->negated;
}

}  // namespace

std::vector<bool> reached_by_warp(const Function& function, const ControlFlow& flow, std::uint32_t warp) {
  const RegisterValues values(function, BlockThread{warp, std::nullopt}, nullptr);
  std::vector<bool> reached(function.instructions.size());
  std::vector<std::uint32_t> pending{0};
  while (!pending.empty()) {
    const std::uint32_t node = pending.back();
    pending.pop_back();
    if (node == flow.exit() || reached[node]) continue;
    reached[node] = true;
    const Instruction& instruction = function.instructions[node];
    const std::vector<std::uint32_t>& successors = flow.successors(node);
    const auto decided = instruction.guard && successors.size() == 2 ? executes(instruction, values) : std::nullopt;
    if (!decided) pending.insert(pending.end(), successors.begin(), successors.end());
    else pending.push_back(*decided ? successors.front() : successors.back());  // the target comes first
  }
  return reached;
}

}  // namespace mlaindex::ptx
