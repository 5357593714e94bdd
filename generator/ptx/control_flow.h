// Where control can go from each instruction of a function.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "generator/ptx/module.h"

namespace mlaindex::ptx {

class ControlFlow {
 public:
  explicit ControlFlow(const Function& function);

  // The node after the last instruction, where every thread ends.
  std::uint32_t exit() const noexcept { return static_cast<std::uint32_t>(successors_.size() - 1); }
  std::size_t num_nodes() const noexcept { return successors_.size(); }
  const std::vector<std::uint32_t>& successors(std::uint32_t node) const { return successors_[node]; }

  // Nodes on some path that starts behind `from` and passes no instruction for which `stops` holds;
  // the stopping instructions themselves are included. `from` is in it when it lies on a cycle.
  using Predicate = std::function<bool(std::uint32_t)>;
  std::vector<bool> reachable(std::uint32_t from, const Predicate& stops) const;

  // Nodes that every path from `from` to the exit passes, both ends included; none when there is
  // no such path.
  std::vector<bool> always_passed(std::uint32_t from) const;

 private:
  std::vector<std::uint32_t> some_path(std::uint32_t from) const;

  std::vector<std::vector<std::uint32_t>> successors_;
};

}  // namespace mlaindex::ptx
