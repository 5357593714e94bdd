// Rule "proxy_fence". A thread reads a slot of a ring with ld.shared and releases it; TMA, which
// is another proxy, refills it. The arrival and the wait do not order the two: the reader, or the
// thread that issues the refill, needs fence.proxy.async in between.
#include <algorithm>

#include "generator/ptx/instruction_kinds.h"
#include "generator/ptx/verify_rules.h"

namespace mlaindex::ptx {
namespace {

// Where TMA writes again and again.
struct Slot {
  std::uint32_t load = 0;  // the TMA instruction
  Anchor begin;
  std::uint64_t bytes = 0;  // an upper bound
};

bool writes_shared(const Instruction& instruction) {
  const Opcode& opcode = instruction.opcode;
  return (opcode.name == "st" && (opcode.has("shared") || opcode.has("shared::cta"))) ||
         is(instruction, "mbarrier", "init");
}

bool refills(Examination& examination, std::uint32_t load, bool past_fences) {
  return examination.flow.reachable(load, [&](std::uint32_t node) {
    return !past_fences && is_proxy_fence(examination.at(node));
  })[load];
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
    if (tma && refills(examination, i, true)) slots.push_back({i, *begin, announced_bytes(examination, i)});
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
    if (!anchor || !refills(examination, i, false)) continue;
    for (const Slot& slot : slots) {
      if (!reads(*anchor, slot) || !refills(examination, slot.load, false)) continue;
      examination.report("proxy_fence", instruction,
                         "reads what TMA refills in line " +
                             std::to_string(examination.at(slot.load).location.line) +
                             ", with no fence.proxy.async on the way round");
      break;
    }
  }
}

}  // namespace mlaindex::ptx
