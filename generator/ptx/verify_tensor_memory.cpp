// Rule "tensor_memory".
#include "generator/ptx/instruction_kinds.h"
#include "generator/ptx/verify_rules.h"

namespace mlaindex::ptx {
namespace {

constexpr std::uint64_t kColumns = 512, kMinColumns = 32;

bool legal_columns(std::uint64_t columns) {
  return columns >= kMinColumns && columns <= kColumns && (columns & (columns - 1)) == 0;
}

}  // namespace

void check_tensor_memory(Examination& examination) {
  std::uint64_t allocated = 0, freed = 0;
  bool counted = true;  // every column count is a constant
  bool used = false, allocates = false, relinquishes = false;
  std::string group;
  for (std::uint32_t i = 0; i < examination.size(); ++i) {
    const Instruction& instruction = examination.at(i);
    if (instruction.opcode.name != "tcgen05") continue;
    used = true;
    const bool alloc = is(instruction, "tcgen05", "alloc"), dealloc = is(instruction, "tcgen05", "dealloc");
    for (const std::string& modifier : instruction.opcode.modifiers) {
      if (modifier.rfind("cta_group::", 0) != 0) continue;
      if (group.empty()) group = modifier;
      if (group != modifier)
        examination.report("tensor_memory", instruction, "the kernel uses both " + group + " and " + modifier);
    }
    relinquishes |= is(instruction, "tcgen05", "relinquish_alloc_permit");
    if ((!alloc && !dealloc) || instruction.operands.size() < 2) continue;
    allocates |= alloc;
    const auto columns = examination.values.constant(instruction.operands[1]);
    counted &= columns.has_value();
    if (columns && !legal_columns(*columns))
      examination.report("tensor_memory", instruction,
                         std::to_string(*columns) + " columns; a power of two from 32 to 512 is allowed");
    (alloc ? allocated : freed) += columns.value_or(0);
    if (!alloc) continue;
    const auto after = examination.flow.reachable(i, [](std::uint32_t) { return false; });
    for (std::uint32_t node = 0; node < examination.size(); ++node)
      if (is(examination.at(node), "tcgen05", "relinquish_alloc_permit") &&
          examination.flow.reachable(node, [](std::uint32_t) { return false; })[i])
        examination.report("tensor_memory", instruction, "allocates after the permit was relinquished");
    bool frees = false;
    for (std::uint32_t node = 0; node < examination.size(); ++node)
      frees |= after[node] && is(examination.at(node), "tcgen05", "dealloc");
    if (!frees) examination.report("tensor_memory", instruction, "no tcgen05.dealloc follows");
  }
  if (!used) return;
  if (!allocates) examination.report("tensor_memory", "tensor memory is used but not allocated");
  if (allocates && !relinquishes)
    examination.report("tensor_memory", "tcgen05.relinquish_alloc_permit is missing: other CTAs of the SM cannot start");
  if (counted && allocated > kColumns)
    examination.report("tensor_memory", std::to_string(allocated) + " columns are allocated, an SM has 512");
  if (counted && allocates && freed != allocated)
    examination.report("tensor_memory", std::to_string(allocated) + " columns are allocated and " +
                                            std::to_string(freed) + " freed");
}

}  // namespace mlaindex::ptx
