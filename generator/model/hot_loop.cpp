#include "generator/model/hot_loop.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace mlaindex::model {
namespace {

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

// The instructions as a graph, with their dominators (Cooper, Harvey and Kennedy's algorithm).
class FlowGraph {
 public:
  explicit FlowGraph(const SassListing& listing)
      : listing_(listing), number_(listing.instructions.size(), none), dominator_(listing.instructions.size(), none) {
    order();
    find_dominators();
  }

  // Reachable instructions in reverse postorder; `number` is the place of one there, or none.
  const std::vector<std::size_t>& in_order() const noexcept { return order_; }
  std::size_t number(std::size_t index) const noexcept { return number_[index]; }

  std::vector<std::size_t> successors(std::size_t index) const {
    const SassInstruction& instruction = listing_.instructions[index];
    std::vector<std::size_t> result = instruction.targets;
    if (instruction.falls_through && index + 1 < listing_.instructions.size()) result.push_back(index + 1);
    return result;
  }
  const std::vector<std::size_t>& predecessors(std::size_t index) const { return predecessors_[index]; }

  bool dominates(std::size_t above, std::size_t index) const {
    while (number_[index] > number_[above]) index = dominator_[index];
    return index == above;
  }

 private:
  void order() {
    std::vector<std::pair<std::size_t, std::size_t>> path{{0, 0}};  // instruction, successors already taken
    std::vector<bool> seen(number_.size());
    seen[0] = true;
    while (!path.empty()) {
      auto& [index, taken] = path.back();
      const std::vector<std::size_t> next = successors(index);
      if (taken == next.size()) {
        order_.push_back(index);
        path.pop_back();
        continue;
      }
      const std::size_t following = next[taken++];
      if (!seen[following]) {
        seen[following] = true;
        path.emplace_back(following, 0);
      }
    }
    std::reverse(order_.begin(), order_.end());
    predecessors_.resize(number_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      number_[order_[i]] = i;
      for (const std::size_t following : successors(order_[i])) predecessors_[following].push_back(order_[i]);
    }
  }

  void find_dominators() {
    dominator_[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::size_t index : order_) {
        if (index == 0) continue;
        std::size_t nearest = none;
        for (std::size_t other : predecessors_[index]) {
          if (dominator_[other] == none) continue;
          if (nearest == none) {
            nearest = other;
            continue;
          }
          while (nearest != other) {
            if (number_[nearest] > number_[other]) nearest = dominator_[nearest];
            else other = dominator_[other];
          }
        }
        changed = changed || dominator_[index] != nearest;
        dominator_[index] = nearest;
      }
    }
  }

  const SassListing& listing_;
  std::vector<std::size_t> order_, number_, dominator_;
  std::vector<std::vector<std::size_t>> predecessors_;
};

int elements_of(const SassListing& listing, const std::vector<std::size_t>& pass) {
  int elements = 0;
  for (const std::size_t index : pass) elements += folded_elements(listing.instructions[index]);
  return elements;
}

}  // namespace

std::vector<Loop> natural_loops(const SassListing& listing) {
  if (listing.instructions.empty()) return {};
  const FlowGraph graph(listing);
  std::map<std::size_t, Loop> loops;  // by header
  for (const std::size_t latch : graph.in_order()) {
    for (const std::size_t header : graph.successors(latch)) {
      if (!graph.dominates(header, latch)) continue;
      Loop& loop = loops[header];
      loop.header = header;
      loop.latches.push_back(latch);
      loop.body.resize(listing.instructions.size());
      loop.body[header] = true;
      for (std::vector<std::size_t> open{latch}; !open.empty();) {
        const std::size_t index = open.back();
        open.pop_back();
        if (loop.body[index]) continue;
        loop.body[index] = true;
        for (const std::size_t before : graph.predecessors(index)) open.push_back(before);
      }
    }
  }
  std::vector<Loop> result;
  for (auto& [header, loop] : loops) result.push_back(std::move(loop));
  return result;
}

int folded_elements(const SassInstruction& instruction) noexcept {
  const std::string_view base = base_opcode(instruction);
  if (base == "FFMA2") return 2;
  if (base == "FFMA") return 1;
  if (instruction.opcode.starts_with("F2FP.RELU")) return 2;
  return 0;
}

std::vector<std::size_t> straight_pass(const SassListing& listing, const Loop& loop) {
  struct Way {
    int elements = -1;  // -1: not reached
    int length = 0;
    std::size_t before = none;
    bool better_than(const Way& other) const {
      return elements != other.elements ? elements > other.elements : length < other.length;
    }
  };
  const FlowGraph graph(listing);
  std::vector<Way> ways(listing.instructions.size());
  ways[loop.header] = {folded_elements(listing.instructions[loop.header]), 1, none};
  for (const std::size_t index : graph.in_order()) {
    if (!loop.body[index] || ways[index].elements < 0) continue;
    for (const std::size_t following : graph.successors(index)) {
      if (!loop.body[following] || graph.number(following) <= graph.number(index)) continue;
      const Way way{ways[index].elements + folded_elements(listing.instructions[following]), ways[index].length + 1, index};
      if (way.better_than(ways[following])) ways[following] = way;
    }
  }
  std::size_t last = loop.latches.front();
  for (const std::size_t latch : loop.latches) {
    if (ways[latch].better_than(ways[last])) last = latch;
  }
  std::vector<std::size_t> pass;
  for (std::size_t index = last; index != none; index = ways[index].before) pass.push_back(index);
  std::reverse(pass.begin(), pass.end());
  return pass;
}

Result<std::vector<std::size_t>> math_pass(const SassListing& listing) {
  constexpr int least_elements = 32;
  std::vector<std::size_t> best;
  double best_share = 0;
  for (const Loop& loop : natural_loops(listing)) {
    std::vector<std::size_t> pass = straight_pass(listing, loop);
    const int elements = elements_of(listing, pass);
    const double share = static_cast<double>(elements) / static_cast<double>(pass.size());
    if (elements < least_elements || share <= best_share) continue;
    best_share = share;
    best = std::move(pass);
  }
  if (!best.empty()) return best;
  return Error{ErrorCode::invalid_file, "no loop of " + listing.kernel + " folds scores over heads",
               "expected: a scoring kernel of this library"};
}

}  // namespace mlaindex::model
