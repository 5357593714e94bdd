// Rule "mbarrier".
#include "generator/ptx/instruction_kinds.h"
#include "generator/ptx/verify_rules.h"

namespace mlaindex::ptx {

namespace {

constexpr std::uint64_t kMaxArrivals = (1u << 20) - 1;

bool makes_barriers_visible(const Instruction& instruction) {
  return is(instruction, "fence", "mbarrier_init") || is_proxy_fence(instruction);
}

using Kind = bool (*)(const Instruction&);

// An instruction of kind `wanted` on some path from `from` that passes none of kind `stop`.
const Instruction* reached_first(const Examination& examination, std::uint32_t from, Kind stop, Kind wanted) {
  const std::vector<bool> reached = examination.flow.reachable(
      from, [&](std::uint32_t node) { return stop(examination.at(node)); });
  for (std::uint32_t node = 0; node < examination.size(); ++node)
    if (reached[node] && wanted(examination.at(node))) return &examination.at(node);
  return nullptr;
}

// The way from one initialisation to its first use: a fence towards TMA and the tensor core, if
// they arrive on barriers, and a barrier of the CTA. True when something was reported.
bool check_publication(Examination& examination, std::uint32_t init, bool asynchronous) {
  const std::string from = " mbarrier.init in line " + std::to_string(examination.at(init).location.line);
  if (const Instruction* wait = reached_first(examination, init, is_cta_barrier, is_barrier_wait)) {
    examination.report("mbarrier", *wait, "reached from" + from + " without a barrier of the CTA between them");
    return true;
  }
  if (!asynchronous) return false;
  if (const Instruction* barrier = reached_first(examination, init, makes_barriers_visible, is_cta_barrier)) {
    examination.report("mbarrier", *barrier,
                       "reached from" + from +
                           " without fence.mbarrier_init: TMA and the tensor core may not see the barrier");
    return true;
  }
  return false;
}

}  // namespace

void check_barriers(Examination& examination) {
  const Instruction* first_use = nullptr;
  bool initialises = false;
  bool asynchronous = false;  // TMA or the tensor core arrives
  for (const Instruction& instruction : examination.function.instructions) {
    asynchronous |= is_tma_load(instruction) || is(instruction, "tcgen05", "commit");
    if (is(instruction, "mbarrier", "init")) {
      initialises = true;
      if (instruction.operands.size() < 2) continue;
      const auto count = examination.values.constant(instruction.operands[1]);
      if (count && (*count == 0 || *count > kMaxArrivals))
        examination.report("mbarrier", instruction, "the arrival count is " + std::to_string(*count) +
                                                        ", allowed are 1 to 1048575");
    } else if (instruction.opcode.name == "mbarrier" && !first_use) {
      first_use = &instruction;
    }
  }
  if (first_use && !initialises) examination.report("mbarrier", *first_use, "no mbarrier.init in this entry");
  for (std::uint32_t i = 0; i < examination.size(); ++i)
    if (is(examination.at(i), "mbarrier", "init") && check_publication(examination, i, asynchronous)) return;
}

}  // namespace mlaindex::ptx
