#include "generator/ptx/control_flow.h"

#include <algorithm>

namespace mlaindex::ptx {
namespace {

bool ends_thread(const Opcode& opcode) {
  return opcode.name == "ret" || opcode.name == "exit" || opcode.name == "trap";
}

}  // namespace

ControlFlow::ControlFlow(const Function& function) : successors_(function.instructions.size() + 1) {
  for (std::uint32_t i = 0; i < function.instructions.size(); ++i) {
    const Instruction& instruction = function.instructions[i];
    std::vector<std::uint32_t>& next = successors_[i];
    bool falls_through = instruction.guard.has_value();
    if (instruction.opcode.name == "bra") {
      if (const auto* label = instruction.operands.empty() ? nullptr : instruction.operands[0].as<LabelRef>())
        next.push_back(function.labels[label->index].instruction);
    } else if (instruction.opcode.name == "brx") {
      for (const Operand& operand : instruction.operands) {
        const auto* symbol = operand.as<SymbolRef>();
        if (!symbol || symbol->table != SymbolTable::branch_table) continue;
        for (std::uint32_t label : function.branch_tables[symbol->index].labels)
          next.push_back(function.labels[label].instruction);
      }
    } else if (ends_thread(instruction.opcode)) {
      next.push_back(exit());
    } else {
      falls_through = true;
    }
    if (falls_through) next.push_back(i + 1);
  }
}

std::vector<bool> ControlFlow::reachable(std::uint32_t from, const Predicate& stops) const {
  std::vector<bool> reached(num_nodes());
  std::vector<std::uint32_t> pending(successors_[from]);
  while (!pending.empty()) {
    const std::uint32_t node = pending.back();
    pending.pop_back();
    if (reached[node]) continue;
    reached[node] = true;
    if (node == exit() || stops(node)) continue;
    pending.insert(pending.end(), successors_[node].begin(), successors_[node].end());
  }
  return reached;
}

// Nodes of one path to the exit, or nothing.
std::vector<std::uint32_t> ControlFlow::some_path(std::uint32_t from) const {
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> parent(num_nodes(), kNone);
  std::vector<std::uint32_t> queue{from};
  parent[from] = from;
  for (std::size_t next = 0; next < queue.size() && parent[exit()] == kNone; ++next) {
    for (std::uint32_t node : successors_[queue[next]]) {
      if (parent[node] != kNone) continue;
      parent[node] = queue[next];
      queue.push_back(node);
    }
  }
  std::vector<std::uint32_t> path;
  if (parent[exit()] == kNone) return path;
  for (std::uint32_t node = exit(); node != from; node = parent[node]) path.push_back(node);
  path.push_back(from);
  return {path.rbegin(), path.rend()};
}

// A node of some path is on all of them when no way around it leads from an earlier node of that
// path to a later one.
std::vector<bool> ControlFlow::always_passed(std::uint32_t from) const {
  constexpr std::size_t kOffPath = ~std::size_t{0};
  std::vector<bool> passed(num_nodes()), visited(num_nodes());
  const std::vector<std::uint32_t> path = some_path(from);
  std::vector<std::size_t> place(num_nodes(), kOffPath);
  for (std::size_t i = 0; i < path.size(); ++i) place[path[i]] = i;
  std::size_t farthest = 0;  // place that the nodes before the current one lead to
  for (std::size_t i = 0; i < path.size(); ++i) {
    passed[path[i]] = farthest <= i;
    std::vector<std::uint32_t> pending{path[i]};
    while (!pending.empty()) {
      const std::uint32_t node = pending.back();
      pending.pop_back();
      for (std::uint32_t successor : successors_[node]) {
        if (place[successor] != kOffPath) {
          farthest = std::max(farthest, place[successor]);
        } else if (!visited[successor]) {
          visited[successor] = true;
          pending.push_back(successor);
        }
      }
    }
  }
  return passed;
}

}  // namespace mlaindex::ptx
