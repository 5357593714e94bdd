// Rule "order": tensor core work against commits, waits and fences.
#include <set>

#include "generator/ptx/instruction_kinds.h"
#include "generator/ptx/verify_rules.h"
#include "generator/ptx/visit_operands.h"

namespace mlaindex::ptx {
namespace {

using Kind = bool (*)(const Instruction&);

bool is_mma(const Instruction& i) { return is(i, "tcgen05", "mma"); }
bool is_commit(const Instruction& i) { return is(i, "tcgen05", "commit"); }
bool is_load(const Instruction& i) { return is(i, "tcgen05", "ld"); }
bool is_wait_load(const Instruction& i) { return is(i, "tcgen05", "wait::ld"); }
bool is_fence_after(const Instruction& i) { return is(i, "tcgen05", "fence::after_thread_sync"); }
bool is_fence_before(const Instruction& i) { return is(i, "tcgen05", "fence::before_thread_sync"); }
bool is_alloc(const Instruction& i) { return is(i, "tcgen05", "alloc"); }
// What may use tensor memory that another thread allocated, or frees what others used.
bool is_use(const Instruction& i) { return is_mma(i) || is_load(i) || is(i, "tcgen05", "dealloc"); }
bool is_wgmma(const Instruction& i) { return is(i, "wgmma", "mma_async"); }
bool is_wgmma_commit(const Instruction& i) { return is(i, "wgmma", "commit_group"); }
bool is_wgmma_fence(const Instruction& i) { return is(i, "wgmma", "fence"); }
bool is_release(const Instruction& i) {
  return is(i, "mbarrier", "arrive") && !i.opcode.has("expect_tx");
}
bool is_wgmma_wait(const Instruction& i) { return is(i, "wgmma", "wait_group"); }

// The registers of the first operand's list.
std::set<std::uint32_t> destinations(const Instruction& instruction) {
  std::set<std::uint32_t> registers;
  if (const auto* list = instruction.operands.empty() ? nullptr : instruction.operands[0].as<OperandList>())
    for (const Operand& element : list->elements)
      if (const auto* reg = element.as<RegisterRef>()) registers.insert(reg->index);
  return registers;
}

bool reads_any(const Instruction& instruction, const std::set<std::uint32_t>& registers) {
  const Operand* written = writes_first_operand(instruction) ? &instruction.operands[0] : nullptr;
  const auto* written_list = written ? written->as<OperandList>() : nullptr;
  bool reads = instruction.guard && registers.contains(instruction.guard->register_index);
  visit_operands(instruction, [&](const Operand& operand) {
    if (&operand == written) return;
    if (written_list && !written_list->elements.empty() && &operand >= written_list->elements.data() &&
        &operand < written_list->elements.data() + written_list->elements.size())
      return;
    if (const auto* reg = operand.as<RegisterRef>()) reads |= registers.contains(reg->index);
    if (const auto* address = operand.as<Address>())
      if (const auto* base = std::get_if<RegisterRef>(&address->base)) reads |= registers.contains(base->index);
  });
  return reads;
}

class Order {
 public:
  explicit Order(Examination& examination) : examination_(examination) {}

  void check() {
    for (std::uint32_t i = 0; i < examination_.size(); ++i) {
      const Instruction& instruction = examination_.at(i);
      if (is_mma(instruction)) {
        reaches_end(i, is_commit, "no tcgen05.commit follows on some path: nothing tells when it is complete");
      } else if (is_load(instruction)) {
        reaches_end(i, is_wait_load, "no tcgen05.wait::ld follows on some path");
        used_early(i, is_wait_load, "is used before tcgen05.wait::ld");
        reaches(i, is_wait_load, is_release, "the slot is released before tcgen05.wait::ld");
        reaches(i, is_fence_before, is_release,
                "the slot is released without tcgen05.fence::before_thread_sync");
      } else if (is_alloc(instruction)) {
        reaches(i, is_fence_before, is_cta_barrier,
                "other warps learn of the allocation without tcgen05.fence::before_thread_sync");
      } else if (is_cta_barrier(instruction)) {
        reaches(i, is_fence_after, is_use,
                "tensor memory is used behind a barrier of the CTA without tcgen05.fence::after_thread_sync");
      } else if (is_barrier_wait(instruction)) {
        reaches(i, is_fence_after, is_load, "tensor memory is read without tcgen05.fence::after_thread_sync");
      } else if (is_wgmma(instruction)) {
        reaches_end(i, is_wgmma_commit, "no wgmma.commit_group follows on some path");
        used_early(i, is_wgmma_wait, "is used before wgmma.wait_group");
      }
    }
    check_wgmma_fence();
  }

 private:
  std::vector<bool> reachable(std::uint32_t from, Kind stop) {
    return examination_.flow.reachable(from, [&](std::uint32_t node) { return stop(examination_.at(node)); });
  }

  void reaches_end(std::uint32_t from, Kind stop, const char* message) {
    if (reachable(from, stop)[examination_.flow.exit()])
      examination_.report("order", examination_.at(from), message);
  }

  // A path from `from` to an instruction of kind `bad` that passes none of kind `stop`.
  void reaches(std::uint32_t from, Kind stop, Kind bad, const char* message) {
    const std::vector<bool> reached = reachable(from, stop);
    for (std::uint32_t node = 0; node < examination_.size(); ++node) {
      if (!reached[node] || !bad(examination_.at(node))) continue;
      examination_.report("order", examination_.at(node),
                          std::string(message) + ", coming from line " +
                              std::to_string(examination_.at(from).location.line));
      return;
    }
  }

  // Copies are let through: the compiler moves accumulators between the instructions of a chain.
  void used_early(std::uint32_t from, Kind stop, const char* message) {
    const std::set<std::uint32_t> registers = destinations(examination_.at(from));
    const std::vector<bool> reached = reachable(from, stop);
    for (std::uint32_t node = 0; node < examination_.size(); ++node) {
      const Instruction& instruction = examination_.at(node);
      if (!reached[node] || instruction.opcode.name == "mov" || is_wgmma(instruction)) continue;
      if (!reads_any(instruction, registers)) continue;
      examination_.report("order", instruction,
                          "a result of line " + std::to_string(examination_.at(from).location.line) + " " + message);
      return;
    }
  }

  void check_wgmma_fence() {
    const Instruction* first = nullptr;
    for (const Instruction& instruction : examination_.function.instructions) {
      if (is_wgmma_fence(instruction)) return;
      if (!first && is_wgmma(instruction)) first = &instruction;
    }
    if (first) examination_.report("order", *first, "no wgmma.fence in this entry");
  }

  Examination& examination_;
};

}  // namespace

void check_tensor_core_order(Examination& examination) { Order(examination).check(); }

}  // namespace mlaindex::ptx
