// Rule "proxy_fence". A thread reads a slot of a ring with ld.shared and releases it; TMA, which
// is another proxy, refills it. The arrival and the wait do not order the two: the reader, or the
// thread that issues the refill, needs fence.proxy.async in between.
#include <algorithm>
#include <optional>

#include "generator/ptx/instruction_kinds.h"
#include "generator/ptx/verify_rules.h"

namespace mlaindex::ptx {
namespace {

// Where TMA writes again and again.
struct Slot {
  std::uint32_t load = 0;  // the TMA instruction
  Anchor begin;
  std::uint64_t bytes = 0;  // an upper bound
  std::optional<Anchor> released;  // the barrier that is waited for before the load
};

bool writes_shared(const Instruction& instruction) {
  const Opcode& opcode = instruction.opcode;
  return (opcode.name == "st" && (opcode.has("shared") || opcode.has("shared::cta"))) ||
         is(instruction, "mbarrier", "init");
}

// Whether the load comes round.
bool refills(Examination& examination, std::uint32_t load) {
  return examination.flow.reachable(load, [](std::uint32_t) { return false; })[load];
}

// Whether it comes round with no fence behind a wait: one that comes round without waiting writes another
// stage of the ring, and a fence before the wait orders nothing that the wait makes known.
bool refills_unfenced(Examination& examination, std::uint32_t load) {
  const auto is_fence = [&](std::uint32_t node) { return is_proxy_fence(examination.at(node)); };
  const std::vector<bool> after = examination.flow.reachable(load, [](std::uint32_t) { return false; });
  bool waits = false;
  for (std::uint32_t node = 0; node < examination.size(); ++node) {
    if (!after[node] || !is_barrier_wait(examination.at(node))) continue;
    if (!examination.flow.reachable(node, [](std::uint32_t) { return false; })[load]) continue;
    waits = true;
    if (examination.flow.reachable(node, is_fence)[load]) return true;
  }
  return !waits && examination.flow.reachable(load, is_fence)[load];
}

// The bytes that the closest expect_tx before the load announces: what the whole stage takes.
std::uint64_t announced_bytes(const Examination& examination, std::uint32_t load) {
  for (std::uint32_t i = load; i-- > 0;) {
    const Instruction& instruction = examination.at(i);
    if (instruction.opcode.name != "mbarrier" || !instruction.opcode.has("expect_tx")) continue;
    return examination.values.constant(instruction.operands.back()).value_or(0);
  }
  return 0;
}

// The barrier of the instruction, as far as its address is known.
std::optional<Anchor> barrier_of(const Examination& examination, const Instruction& instruction) {
  for (const Operand& operand : instruction.operands)
    if (const auto* address = operand.as<Address>()) return examination.values.anchor(*address);
  return std::nullopt;
}

std::optional<Anchor> barrier_before(const Examination& examination, std::uint32_t load) {
  for (std::uint32_t i = load; i-- > 0;)
    if (is_barrier_wait(examination.at(i))) return barrier_of(examination, examination.at(i));
  return std::nullopt;
}

// Whether the thread that reads lets go of the slot, by an arrival or by coming round, unfenced.
bool released_unfenced(const Examination& examination, std::uint32_t read, const Slot& slot) {
  const std::vector<bool> reached =
      examination.flow.reachable(read, [&](std::uint32_t node) { return is_proxy_fence(examination.at(node)); });
  if (reached[read]) return true;
  for (std::uint32_t node = 0; node < examination.size(); ++node)
    if (reached[node] && slot.released && is(examination.at(node), "mbarrier", "arrive") &&
        barrier_of(examination, examination.at(node)) == slot.released)
      return true;
  return false;
}

std::vector<Slot> refilled_slots(Examination& examination) {
  std::vector<Slot> slots;
  std::vector<Anchor> written;
  for (std::uint32_t i = 0; i < examination.size(); ++i) {
    const Instruction& instruction = examination.at(i);
    const bool tma = is_tma_load(instruction);
    if ((!tma && !writes_shared(instruction)) || instruction.operands.empty()) continue;
    const auto* address = instruction.operands[0].as<Address>();
    const auto begin = address ? examination.values.anchor(*address) : std::nullopt;
    if (!begin) continue;
    written.push_back(*begin);
    if (tma && refills(examination, i))
      slots.push_back({i, *begin, announced_bytes(examination, i), barrier_before(examination, i)});
  }
  // A slot ends at the latest where the next thing begins that TMA or the threads write.
  for (Slot& slot : slots)
    for (const Anchor& other : written)
      if (other.same_variable(slot.begin) && other.offset > slot.begin.offset)
        slot.bytes = std::min(slot.bytes, static_cast<std::uint64_t>(other.offset - slot.begin.offset));
  return slots;
}

bool reads(const Anchor& address, const Slot& slot) {
  return address.same_variable(slot.begin) && address.offset >= slot.begin.offset &&
         static_cast<std::uint64_t>(address.offset - slot.begin.offset) < slot.bytes;
}

}  // namespace

void check_proxy_fences(Examination& examination) {
  const std::vector<Slot> slots = refilled_slots(examination);
  for (std::uint32_t i = 0; i < examination.size(); ++i) {
    const Instruction& instruction = examination.at(i);
    if (!is_shared_load(instruction) || instruction.operands.size() < 2) continue;
    const auto* address = instruction.operands[1].as<Address>();
    const auto anchor = address ? examination.values.anchor(*address) : std::nullopt;
    if (!anchor) continue;
    for (const Slot& slot : slots) {
      if (!reads(*anchor, slot) || !refills_unfenced(examination, slot.load)) continue;
      if (!released_unfenced(examination, i, slot)) continue;
      examination.report("proxy_fence", instruction,
                         "reads what TMA refills in line " +
                             std::to_string(examination.at(slot.load).location.line) +
                             ", with no fence.proxy.async between the read and its release, nor before the refill");
      break;
    }
  }
}

}  // namespace mlaindex::ptx
