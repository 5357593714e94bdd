// Rule "aligned": warp-wide instructions under a branch that elect.sync decides, so that one lane
// comes alone.
#include "generator/ptx/instruction_kinds.h"
#include "generator/ptx/verify_rules.h"

namespace mlaindex::ptx {
namespace {

// What is known of a register across a warp.
enum class Lanes : std::uint8_t {
  any,
  one_set,    // true, or not zero, in the elected lane at most
  one_clear,  // false in the elected lane at most
};

// Follows the result of elect.sync through the ways compilers hand a predicate on.
class ElectedRegisters {
 public:
  explicit ElectedRegisters(const Function& function) : lanes_(function.registers.size(), Lanes::any) {
    std::vector<std::vector<const Instruction*>> writes(lanes_.size());
    for (const Instruction& instruction : function.instructions) {
      if (!writes_first_operand(instruction)) continue;
      const Operand& target = instruction.operands[0];
      if (const auto* reg = target.as<RegisterRef>()) writes[reg->index].push_back(&instruction);
      if (const auto* pair = target.as<RegisterPair>(); pair && pair->second != kNoIndex)
        writes[pair->second].push_back(&instruction);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t reg = 0; reg < lanes_.size(); ++reg) {
        if (lanes_[reg] != Lanes::any || writes[reg].empty()) continue;
        lanes_[reg] = of_all(writes[reg]);
        changed |= lanes_[reg] != Lanes::any;
      }
    }
  }

  // True when one lane at most takes what the guard lets through.
  bool selects_one(const Guard& guard) const {
    return lanes_[guard.register_index] == (guard.negated ? Lanes::one_clear : Lanes::one_set);
  }
  // True when all lanes but one at most do.
  bool excludes_one(const Guard& guard) const {
    return lanes_[guard.register_index] == (guard.negated ? Lanes::one_set : Lanes::one_clear);
  }

 private:
  Lanes of_all(const std::vector<const Instruction*>& writes) const {
    Lanes common = Lanes::any;
    for (const Instruction* write : writes) {
      if (is_zero(*write)) continue;
      const Lanes lanes = of(*write);
      if (lanes == Lanes::any || (common != Lanes::any && common != lanes)) return Lanes::any;
      common = lanes;
    }
    return common;
  }

  static bool is_zero(const Instruction& instruction) {
    const auto* literal = instruction.operands.size() == 2 ? instruction.operands[1].as<IntegerLiteral>() : nullptr;
    return instruction.opcode.name == "mov" && literal && literal->value == 0;
  }

  static bool is_literal(const Operand& operand, std::uint64_t value) {
    const auto* literal = operand.as<IntegerLiteral>();
    return literal && literal->value == value;
  }

  Lanes of(const Operand& operand) const {
    const auto* reg = operand.as<RegisterRef>();
    if (!reg) return Lanes::any;
    return operand.negated ? flipped(lanes_[reg->index]) : lanes_[reg->index];
  }

  static Lanes flipped(Lanes lanes) {
    if (lanes == Lanes::any) return lanes;
    return lanes == Lanes::one_set ? Lanes::one_clear : Lanes::one_set;
  }

  Lanes of(const Instruction& instruction) const {
    const std::string& name = instruction.opcode.name;
    const std::vector<Operand>& operands = instruction.operands;
    if (is(instruction, "elect", "sync")) return Lanes::one_set;
    if (instruction.guard) return selects_one(*instruction.guard) ? Lanes::one_set : Lanes::any;
    if (operands.size() == 2 && (name == "mov" || name == "cvt")) return of(operands[1]);
    if (operands.size() == 2 && name == "not") return flipped(of(operands[1]));
    if (operands.size() == 4 && name == "selp" && is_literal(operands[2], 0)) return of(operands[3]);
    if (operands.size() == 4 && name == "selp" && is_literal(operands[1], 0))
      return flipped(of(operands[3])) == Lanes::one_set ? Lanes::one_set : Lanes::any;
    if (operands.size() == 3 && name == "setp" && is_literal(operands[2], 0)) {
      const Lanes lanes = of(operands[1]);
      if (instruction.opcode.has("ne")) return lanes;
      if (instruction.opcode.has("eq")) return flipped(lanes);
    }
    if (operands.size() == 3 && (name == "and" || name == "or")) {
      const Lanes kept = name == "and" ? Lanes::one_set : Lanes::one_clear;
      if (of(operands[1]) == kept || of(operands[2]) == kept) return kept;
    }
    return Lanes::any;
  }

  std::vector<Lanes> lanes_;
};

bool is_warp_wide(const Instruction& instruction) {
  return instruction.opcode.has("aligned") || is(instruction, "bar", "sync") || is(instruction, "bar", "warp");
}

// Reports the first warp-wide instruction between the branch and where the warp is whole again,
// which is at an instruction that the other lanes always pass.
void check_branch(Examination& examination, std::uint32_t branch, std::uint32_t alone, std::uint32_t others) {
  const std::vector<bool> whole = examination.flow.always_passed(others);
  if (whole[alone]) return;
  std::vector<bool> inside =
      examination.flow.reachable(alone, [&](std::uint32_t node) { return bool{whole[node]}; });
  inside[alone] = true;
  for (std::uint32_t node = 0; node < examination.size(); ++node) {
    if (!inside[node] || whole[node] || !is_warp_wide(examination.at(node))) continue;
    examination.report("aligned", examination.at(node),
                       "only the lane elected for line " + std::to_string(examination.at(branch).location.line) +
                           " comes here, but it is a warp-wide instruction");
    return;
  }
}

}  // namespace

void check_aligned(Examination& examination) {
  const ElectedRegisters elected(examination.function);
  for (std::uint32_t i = 0; i < examination.size(); ++i) {
    const Instruction& instruction = examination.at(i);
    if (!instruction.guard) continue;
    const bool one = elected.selects_one(*instruction.guard);
    if (one && is_warp_wide(instruction))
      examination.report("aligned", instruction, "only the elected lane executes this warp-wide instruction");
    const std::vector<std::uint32_t>& next = examination.flow.successors(i);
    if (instruction.opcode.name != "bra" || next.size() != 2) continue;
    if (one) check_branch(examination, i, next[0], next[1]);
    else if (elected.excludes_one(*instruction.guard)) check_branch(examination, i, next[1], next[0]);
  }
}

}  // namespace mlaindex::ptx
