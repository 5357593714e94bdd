// Rule "arrivals": as many arrivals as mbarrier.init counts, one thread for what one thread must do,
// and a lane that arrives for its warp only when the others have stored. In the kernels of this library
// a thread arrives at a barrier once a phase.
#include <map>
#include <set>
#include <span>

#include "generator/ptx/instruction_kinds.h"
#include "generator/ptx/thread_paths.h"
#include "generator/ptx/verify_rules.h"

namespace mlaindex::ptx {
namespace {

bool is_commit(const Instruction& instruction) { return is(instruction, "tcgen05", "commit"); }

bool is_for_one_thread(const Instruction& instruction) {
  return is(instruction, "tcgen05", "mma") || is_commit(instruction);
}

bool arrives(const Instruction& instruction) {
  return is(instruction, "mbarrier", "arrive") || is(instruction, "mbarrier", "arrive_drop") || is_commit(instruction);
}

// At barriers of other CTAs.
bool is_remote(const Instruction& instruction) {
  return instruction.opcode.has(is_commit(instruction) ? "multicast::cluster" : "shared::cluster");
}

// Of another number than one.
bool is_counted(const Instruction& instruction) {
  return !is_commit(instruction) && instruction.operands.size() != (instruction.opcode.has("expect_tx") ? 3 : 2);
}

const Address* first_address(const Instruction& instruction) {
  for (const Operand& operand : instruction.operands)
    if (const auto* address = operand.as<Address>()) return address;
  return nullptr;
}

bool is_shared_store(const Instruction& instruction) {
  return instruction.opcode.name == "st" && (instruction.opcode.has("shared") || instruction.opcode.has("shared::cta"));
}

// Whether the lanes of a warp come together there.
bool meets(const Instruction& instruction) { return instruction.opcode.has("sync") || is_cta_barrier(instruction); }

bool same_place(const Address& a, const Address& b) { return a.base == b.base && a.offset == b.offset; }

// Whether the address counts from a register that the instruction writes.
bool moves(const Instruction& instruction, const Address& address) {
  const auto* base = std::get_if<RegisterRef>(&address.base);
  const auto* written = writes_first_operand(instruction) ? instruction.operands[0].as<RegisterRef>() : nullptr;
  return base && written && *base == *written;
}

// Barriers whose addresses begin at the same place: one, or a ring of them.
using Ring = std::pair<std::uint32_t, std::int64_t>;  // variable, offset

class Arrivals {
 public:
  explicit Arrivals(Examination& examination) : examination_(examination), paths_(examination.paths) {}

  void check() {
    if (paths_.num_warps() == 0) return;
    check_single_threads();
    check_second_arrivals();
    check_lanes_behind();
    if (!collect()) return;
    for (const auto& [ring, init] : inits_)
      if (!counted_.contains(ring)) check_count(init, sites_[ring]);
  }

 private:
  void check_single_threads() {
    for (std::uint32_t i = 0; i < examination_.size(); ++i) {
      if (!is_for_one_thread(examination_.at(i))) continue;
      for (std::uint32_t warp = 0; warp < paths_.num_warps(); ++warp) {
        const std::uint32_t threads = paths_.threads(warp, std::span(&i, 1));
        if (threads <= 1) continue;
        examination_.report("arrivals", examination_.at(i),
                            std::to_string(threads) + " threads of warp " + std::to_string(warp) +
                                " execute it; one must be elected");
        break;
      }
    }
  }

  // Two arrivals of a thread at a barrier, from one to the other without a wait.
  void check_second_arrivals() {
    for (std::uint32_t first = 0; first < examination_.size(); ++first) {
      const Address* barrier = arrives(examination_.at(first)) ? first_address(examination_.at(first)) : nullptr;
      if (!barrier) continue;
      const std::vector<bool> reached = examination_.flow.reachable(first, [&](std::uint32_t node) {
        const Instruction& instruction = examination_.at(node);
        return is_barrier_wait(instruction) || meets(instruction) || moves(instruction, *barrier);
      });
      for (std::uint32_t second = 0; second < examination_.size(); ++second) {
        const Instruction& instruction = examination_.at(second);
        const Address* other = reached[second] && arrives(instruction) ? first_address(instruction) : nullptr;
        if (!other || !same_place(*barrier, *other) || !some_thread_executes(first, second)) continue;
        examination_.report("arrivals", instruction,
                            "arrives a second time at the barrier of line " +
                                std::to_string(examination_.at(first).location.line) + ", with no wait between");
      }
    }
  }

  // Whether there is a kind of threads, lane 0 or the others of a warp, that executes both.
  bool some_thread_executes(std::uint32_t first, std::uint32_t second) const {
    for (std::uint32_t warp = 0; warp < paths_.num_warps(); ++warp)
      if ((paths_.executes_in_first_lane(warp, first) && paths_.executes_in_first_lane(warp, second)) ||
          (paths_.executes_in_other_lanes(warp, first) && paths_.executes_in_other_lanes(warp, second)))
        return true;
    return false;
  }

  // One lane arrives for its warp, of which others may still be about to write what the arrival announces.
  void check_lanes_behind() {
    std::set<std::uint32_t> reported;
    for (std::uint32_t store = 0; store < examination_.size(); ++store) {
      if (!is_shared_store(examination_.at(store))) continue;
      const std::vector<bool> reached =
          examination_.flow.reachable(store, [&](std::uint32_t node) { return meets(examination_.at(node)); });
      for (std::uint32_t i = 0; i < examination_.size(); ++i) {
        if (!reached[i] || !arrives(examination_.at(i)) || !leaves_lanes_behind(store, i)) continue;
        if (!reported.insert(i).second) continue;
        examination_.report("arrivals", examination_.at(i),
                            "one lane arrives; others of its warp may still have to store in line " +
                                std::to_string(examination_.at(store).location.line) + ", with no bar.warp.sync between");
      }
    }
  }

  bool leaves_lanes_behind(std::uint32_t store, std::uint32_t arrival) const {
    for (std::uint32_t warp = 0; warp < paths_.num_warps(); ++warp)
      if (paths_.executes_in_other_lanes(warp, store) && paths_.executes_in_first_lane(warp, arrival) &&
          !paths_.executes_in_other_lanes(warp, arrival))
        return true;
    return false;
  }

  // False when something is not known about one of them, so that nothing can be said of any.
  bool collect() {
    for (std::uint32_t i = 0; i < examination_.size(); ++i) {
      const Instruction& instruction = examination_.at(i);
      const bool init = is(instruction, "mbarrier", "init");
      if (!init && !arrives(instruction)) continue;
      if (!init && is_remote(instruction)) return false;
      const Address* address = first_address(instruction);
      const auto place = address ? examination_.values.anchor(*address) : std::nullopt;
      if (!place) return false;
      const Ring ring{place->index, place->offset};
      if (init) inits_.emplace(ring, i);
      else if (is_counted(instruction)) counted_.insert(ring);
      else sites_[ring].push_back(i);
    }
    return true;
  }

  void check_count(std::uint32_t init, const std::vector<std::uint32_t>& sites) {
    const auto count = examination_.values.constant(examination_.at(init).operands[1]);
    if (!count) return;
    std::uint64_t arrivals = 0;
    for (std::uint32_t warp = 0; warp < paths_.num_warps(); ++warp) arrivals += paths_.threads(warp, sites);
    if (arrivals != *count)
      examination_.report("arrivals", examination_.at(init),
                          "counts " + std::to_string(*count) + " arrivals, " + std::to_string(arrivals) +
                              " threads arrive");
  }

  Examination& examination_;
  const ThreadPaths& paths_;
  std::map<Ring, std::uint32_t> inits_;               // an mbarrier.init
  std::map<Ring, std::vector<std::uint32_t>> sites_;  // what arrives
  std::set<Ring> counted_;                            // what arrives brings a number of its own: nothing is said
};

}  // namespace

void check_arrivals(Examination& examination) { Arrivals(examination).check(); }

}  // namespace mlaindex::ptx
