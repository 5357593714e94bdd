// Rule "mbarrier".
#include "generator/ptx/instruction_kinds.h"
#include "generator/ptx/verify_rules.h"

namespace mlaindex::ptx {

void check_barriers(Examination& examination) {
  constexpr std::uint64_t kMaxArrivals = (1u << 20) - 1;
  const Instruction* first_init = nullptr;
  const Instruction* first_use = nullptr;
  bool asynchronous = false;  // TMA or the tensor core arrives
  bool fenced = false;
  for (const Instruction& instruction : examination.function.instructions) {
    if (is(instruction, "mbarrier", "init")) {
      if (!first_init) first_init = &instruction;
      if (instruction.operands.size() < 2) continue;
      const auto count = examination.values.constant(instruction.operands[1]);
      if (count && (*count == 0 || *count > kMaxArrivals))
        examination.report("mbarrier", instruction, "the arrival count is " + std::to_string(*count) +
                                                        ", allowed are 1 to 1048575");
    } else if (instruction.opcode.name == "mbarrier" && !is(instruction, "mbarrier", "inval")) {
      if (!first_use) first_use = &instruction;
    }
    asynchronous |= is_tma_load(instruction) || is(instruction, "tcgen05", "commit");
    fenced |= is(instruction, "fence", "mbarrier_init") || is_proxy_fence(instruction);
  }
  if (first_use && !first_init) examination.report("mbarrier", *first_use, "no mbarrier.init in this entry");
  if (first_init && asynchronous && !fenced)
    examination.report("mbarrier", *first_init,
                       "TMA and tensor core arrivals need fence.mbarrier_init after the initialisation");
  if (!first_init) return;
  // Every path from the initialisation to a wait or an arrival passes a barrier of the CTA.
  for (std::uint32_t i = 0; i < examination.size(); ++i) {
    if (!is(examination.at(i), "mbarrier", "init")) continue;
    const auto reached = examination.flow.reachable(i, [&](std::uint32_t node) {
      const std::string& name = examination.at(node).opcode.name;
      return (name == "bar" && !examination.at(node).opcode.has("warp")) || name == "barrier";
    });
    for (std::uint32_t node = 0; node < examination.size(); ++node) {
      if (!reached[node] || !is_barrier_wait(examination.at(node))) continue;
      examination.report("mbarrier", examination.at(node),
                         "reached from mbarrier.init in line " + std::to_string(examination.at(i).location.line) +
                             " without a barrier of the CTA between them");
      return;
    }
  }
}

}  // namespace mlaindex::ptx
