#include "generator/ptx/instruction_kinds.h"

#include <algorithm>
#include <array>

namespace mlaindex::ptx {

bool writes_first_operand(const Instruction& instruction) noexcept {
  static constexpr std::array<std::string_view, 17> kNever = {
      "st", "red", "cp", "bar", "barrier", "bra", "brx", "setmaxnreg", "nanosleep", "fence", "ret",
      "exit", "trap", "prefetch", "membar", "griddepcontrol", "stmatrix"};
  const std::string& name = instruction.opcode.name;
  if (instruction.operands.empty() || instruction.operands[0].as<Address>()) return false;
  if (std::find(kNever.begin(), kNever.end(), name) != kNever.end()) return false;
  if (name == "tcgen05") return is(instruction, "tcgen05", "ld");
  if (name == "wgmma") return is(instruction, "wgmma", "mma_async");
  return true;
}

bool is(const Instruction& instruction, std::string_view name, std::string_view first) noexcept {
  const Opcode& opcode = instruction.opcode;
  return opcode.name == name && !opcode.modifiers.empty() && opcode.modifiers.front() == first;
}

bool is_tma_load(const Instruction& instruction) noexcept {
  return is(instruction, "cp", "async") && instruction.opcode.has("bulk") &&
         instruction.opcode.has("mbarrier::complete_tx::bytes");
}

bool is_shared_load(const Instruction& instruction) noexcept {
  const Opcode& opcode = instruction.opcode;
  return opcode.name == "ld" && (opcode.has("shared") || opcode.has("shared::cta"));
}

bool is_proxy_fence(const Instruction& instruction) noexcept {
  const Opcode& opcode = instruction.opcode;
  return opcode.name == "fence" && opcode.modifiers.size() >= 2 && opcode.modifiers[0] == "proxy" &&
         opcode.modifiers[1] == "async";
}

bool is_barrier_wait(const Instruction& instruction) noexcept {
  return is(instruction, "mbarrier", "try_wait") || is(instruction, "mbarrier", "test_wait");
}

bool is_cta_barrier(const Instruction& instruction) noexcept {
  const Opcode& opcode = instruction.opcode;
  return opcode.name == "barrier" || (opcode.name == "bar" && !opcode.has("warp"));
}

}  // namespace mlaindex::ptx
