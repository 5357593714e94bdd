#include "tests/mutation/mutation.h"
#include "tests/mutation/sites.h"

namespace mlaindex::mutation {
namespace {

using ptx::Instruction;
using ptx::Operand;
using ptx::RegisterRef;
using ptx::ScalarType;

constexpr std::size_t kParity = 2;  // mbarrier.try_wait done, [barrier], parity
constexpr std::size_t kCount = 1;   // mbarrier.init [barrier], count

Mutation parity_stuck(std::uint64_t at) {
  return {"parity stuck at " + std::to_string(at),
          [=](const Editor& editor, std::uint32_t index) {
            return is_wait(editor.at(index)) && editor.constant(editor.at(index).operands[kParity]) != at;
          },
          [=](Editor& editor, std::uint32_t index) { editor.at(index).operands[kParity] = literal(at); }};
}

Mutation init_count(std::int64_t change) {
  return {change > 0 ? "one arrival more in mbarrier.init" : "one arrival less in mbarrier.init", each(is_init),
          [=](Editor& editor, std::uint32_t index) {
            editor.change_operand(index, kCount, "add", ScalarType::u32, static_cast<std::uint64_t>(change));
          }};
}

Mutation expected_bytes(std::int64_t change) {
  return {change > 0 ? "16 bytes more expected" : "16 bytes less expected", each(is_expect),
          [=](Editor& editor, std::uint32_t index) {
            editor.change_operand(index, editor.at(index).operands.size() - 1, "add", ScalarType::u32,
                                  static_cast<std::uint64_t>(change));
          }};
}

// The operand with the address of the barrier of an instruction that waits, arrives or counts.
std::size_t barrier_operand(const Instruction& instruction) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < instruction.operands.size(); ++i)
    if (instruction.operands[i].as<ptx::Address>()) last = i;
  return last;
}

bool uses_barrier(const Instruction& instruction) {
  return is_wait(instruction) || is_arrive(instruction) || is_expect(instruction) || is_tma(instruction) ||
         is_tcgen05_commit(instruction);
}

Mutation other_barrier(std::string kind, std::int64_t distance) {
  return {std::move(kind), each(uses_barrier), [=](Editor& editor, std::uint32_t index) {
            editor.move_address(index, barrier_operand(editor.at(index)), distance);
          }};
}

const RegisterRef* register_of(const Instruction& instruction, std::size_t operand) {
  return operand < instruction.operands.size() ? instruction.operands[operand].as<RegisterRef>() : nullptr;
}

// setp.eq p, stage, STAGES; where selp puts a stage back to 0.
bool wraps_ring(const Editor& editor, std::uint32_t index, const Plan& plan) {
  const Instruction& compare = editor.at(index);
  const auto stages = compare.opcode.name == "setp" && compare.operands.size() == 3
                          ? editor.constant(compare.operands[2]) : std::nullopt;
  if (!stages || (*stages != static_cast<std::uint64_t>(plan.key_stages) &&
                  *stages != static_cast<std::uint64_t>(plan.accumulator_stages)))
    return false;
  const RegisterRef* stage = register_of(compare, 1);
  for (std::uint32_t i = index + 1; stage && i < index + 5 && i < editor.size(); ++i) {
    const Instruction& select = editor.at(i);
    const RegisterRef* kept = select.opcode.name == "selp" ? register_of(select, 2) : nullptr;
    if (kept && *kept == *stage && editor.constant(select.operands[1]) == 0) return true;
  }
  return false;
}

Mutation ring_depth(const Plan& plan, std::int64_t change) {
  return {change > 0 ? "ring one stage deeper on one side" : "ring one stage shallower on one side",
          [=](const Editor& editor, std::uint32_t index) { return wraps_ring(editor, index, plan); },
          [=](Editor& editor, std::uint32_t index) {
            Operand& stages = editor.at(index).operands[2];
            stages = literal(*editor.constant(stages) + static_cast<std::uint64_t>(change));
          }};
}

// xor parity, parity, wrapped;
bool flips_phase(const Editor& editor, std::uint32_t index) {
  const Instruction& flip = editor.at(index);
  if (flip.opcode.name != "xor" || flip.operands.size() != 3) return false;
  const RegisterRef *to = register_of(flip, 0), *from = register_of(flip, 1);
  return to && from && *to == *from;
}

}  // namespace

std::vector<Mutation> wrong_counts(const Plan& plan) {
  const std::int64_t ring_bytes = 8 * plan.key_stages;
  return {
      {"parity flipped", each(is_wait),
       [](Editor& editor, std::uint32_t index) { editor.change_operand(index, kParity, "xor", ScalarType::b32, 1); }},
      parity_stuck(0),
      parity_stuck(1),
      {"phase never flips", flips_phase, [](Editor& editor, std::uint32_t index) { editor.erase(index); }},
      ring_depth(plan, +1),
      ring_depth(plan, -1),
      init_count(+1),
      init_count(-1),
      expected_bytes(+16),
      expected_bytes(-16),
      other_barrier("barrier of the next stage", 8),
      other_barrier("barrier of the ring behind", ring_bytes),
      other_barrier("barrier of the ring before", -ring_bytes),
  };
}

}  // namespace mlaindex::mutation
