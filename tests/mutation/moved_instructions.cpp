#include <set>

#include "generator/ptx/visit_operands.h"
#include "tests/mutation/mutation.h"
#include "tests/mutation/sites.h"

namespace mlaindex::mutation {
namespace {

using Index = std::optional<std::uint32_t>;
using Target = std::function<Index(const Editor&, std::uint32_t)>;

// In front of the target, when control runs from one to the other.
Mutation move_up(std::string kind, Matcher what, Target target) {
  const auto is_site = [=](const Editor& editor, std::uint32_t index) {
    if (!what(editor.at(index))) return false;
    const Index to = target(editor, index);
    return to && runs_through(editor, *to, index);
  };
  return {std::move(kind), is_site,
          [=](Editor& editor, std::uint32_t index) { editor.move(index, *target(editor, index)); }};
}

// Behind the target.
Mutation move_down(std::string kind, Matcher what, Target target) {
  const auto is_site = [=](const Editor& editor, std::uint32_t index) {
    if (!what(editor.at(index))) return false;
    const Index to = target(editor, index);
    return to && runs_through(editor, index, *to);
  };
  return {std::move(kind), is_site,
          [=](Editor& editor, std::uint32_t index) { editor.move(index, *target(editor, index) + 1); }};
}

Target closest_before(Matcher matcher) {
  return [=](const Editor& editor, std::uint32_t index) { return previous(editor, index, matcher); };
}

Target closest_behind(Matcher matcher) {
  return [=](const Editor& editor, std::uint32_t index) { return next(editor, index, matcher); };
}

std::set<std::uint32_t> registers_read(const ptx::Instruction& instruction) {
  std::set<std::uint32_t> registers;
  const ptx::Operand* written = ptx::writes_first_operand(instruction) ? &instruction.operands[0] : nullptr;
  if (instruction.guard) registers.insert(instruction.guard->register_index);
  ptx::visit_operands(instruction, [&](const ptx::Operand& operand) {
    if (const auto* reg = operand.as<ptx::RegisterRef>(); reg && &operand != written) registers.insert(reg->index);
    if (const auto* address = operand.as<ptx::Address>())
      if (const auto* base = std::get_if<ptx::RegisterRef>(&address->base)) registers.insert(base->index);
  });
  return registers;
}

// Copies the instruction, and what computes its operands, in front of `target` and erases it. A
// branch around it becomes its guard.
void hoist(Editor& editor, std::uint32_t index, std::uint32_t target) {
  ptx::Instruction moved = editor.at(index);
  std::set<std::uint32_t> needed = registers_read(moved);
  std::vector<ptx::Instruction> slice;
  for (std::uint32_t i = index; i-- > target;) {
    const ptx::Instruction& instruction = editor.at(i);
    if (instruction.opcode.name == "bra" && instruction.guard && !moved.guard) {
      const auto* label = instruction.operands[0].as<ptx::LabelRef>();
      if (!label || editor.entry().labels[label->index].instruction <= index) continue;
      moved.guard = ptx::Guard{instruction.guard->register_index, !instruction.guard->negated};
      needed.insert(instruction.guard->register_index);
    }
    const auto* written = ptx::writes_first_operand(instruction) ? instruction.operands[0].as<ptx::RegisterRef>() : nullptr;
    if (!written || !needed.contains(written->index)) continue;
    slice.push_back(instruction);
    needed.merge(registers_read(instruction));
  }
  editor.erase(index);
  editor.insert(target, std::move(moved));
  for (const ptx::Instruction& instruction : slice) editor.insert(target, instruction);
}

Mutation hoisted(std::string kind, Matcher what, Target target) {
  Mutation mutation = move_up(std::move(kind), what, target);
  mutation.plant = [=](Editor& editor, std::uint32_t index) { hoist(editor, index, *target(editor, index)); };
  return mutation;
}

// The first of the waits in a row that end above `index`.
Index first_wait(const Editor& editor, std::uint32_t index) {
  const Matcher is_sync = [](const ptx::Instruction& i) { return is_wait(i) || is_cta_barrier(i); };
  const Matcher stops = [&](const ptx::Instruction& i) {
    return is_sync(i) || is_mma(i) || is_tensor_load(i) || is_shared_load(i) || is_arrive(i) || is_dealloc(i);
  };
  Index first = previous(editor, index, stops);
  if (!first || !is_sync(editor.at(*first))) return std::nullopt;
  while (const Index earlier = previous(editor, *first, stops)) {
    if (!is_wait(editor.at(*earlier)) || !runs_through(editor, *earlier, index)) break;
    first = earlier;
  }
  return first;
}

// The first instruction that reads what the asynchronous instruction before the wait brings.
Target first_use(Matcher producer) {
  return [=](const Editor& editor, std::uint32_t wait) -> Index {
    const Index from = previous(editor, wait, producer);
    if (!from) return std::nullopt;
    std::set<std::uint32_t> results;
    for (const ptx::Operand& element : editor.at(*from).operands[0].as<ptx::OperandList>()->elements)
      results.insert(element.as<ptx::RegisterRef>()->index);
    return next(editor, wait, [&](const ptx::Instruction& instruction) {
      if (instruction.opcode.name == "mov") return false;  // a copy is no use
      for (std::uint32_t reg : registers_read(instruction))
        if (results.contains(reg)) return true;
      return false;
    });
  };
}

bool releases(const ptx::Instruction& i) { return is_arrive(i) || is_cta_barrier(i); }
bool reads_slot(const ptx::Instruction& i) { return is_shared_load(i) || is_tensor_load(i) || is_wgmma(i); }
bool waits_for_read(const ptx::Instruction& i) { return is_wait_load(i) || is_wgmma_wait(i); }

}  // namespace

std::vector<Mutation> moved_instructions() {
  return {
      move_up("fence.proxy.async before the read", is_proxy_fence, closest_before(is_shared_load)),
      move_down("fence.proxy.async behind the arrive", is_proxy_fence, closest_behind(is_arrive)),
      move_up("fence.mbarrier_init before the last init", is_init_fence, closest_before(is_init)),
      move_up("tcgen05.fence::after before the wait", is_fence_after, first_wait),
      move_down("tcgen05.fence::before behind the release", is_fence_before, closest_behind(releases)),
      move_down("tcgen05.wait::ld behind the first use", is_wait_load, first_use(is_tensor_load)),
      move_down("tcgen05.wait::ld behind the arrive", is_wait_load, closest_behind(is_arrive)),
      hoisted("tcgen05.commit before the last mma", is_tcgen05_commit, closest_before(is_tcgen05_mma)),
      move_down("wgmma.fence behind the first mma", is_wgmma_fence, closest_behind(is_wgmma)),
      move_up("wgmma.commit_group before the last mma", is_wgmma_commit, closest_before(is_wgmma)),
      move_down("wgmma.wait_group behind the first use", is_wgmma_wait, first_use(is_wgmma)),
      move_down("wgmma.wait_group behind the arrive", is_wgmma_wait, closest_behind(is_arrive)),
      hoisted("slot released before the wait for its reads", is_arrive, closest_before(waits_for_read)),
      hoisted("slot released before the last read", is_arrive, closest_before(reads_slot)),
      hoisted("slot released before it is full", is_arrive, closest_before(is_wait)),
      {"griddepcontrol.wait at the end", each(is_launch_wait),
       [](Editor& editor, std::uint32_t index) { editor.move(index, static_cast<std::uint32_t>(editor.entry().instructions.size()) - 1); }},
      move_up("permit relinquished before the allocation", is_relinquish, closest_before(is_alloc)),
      hoisted("tensor memory freed before the barrier", is_dealloc, closest_before(is_cta_barrier)),
  };
}

}  // namespace mlaindex::mutation
