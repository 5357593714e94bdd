#include "tests/mutation/sites.h"

namespace mlaindex::mutation {

std::optional<std::uint32_t> previous(const Editor& editor, std::uint32_t index, const Matcher& matcher) {
  for (std::uint32_t i = index; i-- > 0;)
    if (matcher(editor.at(i))) return i;
  return std::nullopt;
}

std::optional<std::uint32_t> next(const Editor& editor, std::uint32_t index, const Matcher& matcher) {
  for (std::uint32_t i = index + 1; i < editor.size(); ++i)
    if (matcher(editor.at(i))) return i;
  return std::nullopt;
}

bool runs_through(const Editor& editor, std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t i = from; i < to; ++i) {
    const ptx::Instruction& instruction = editor.at(i);
    if (instruction.opcode.name == "ret" || instruction.opcode.name == "exit") return false;
    if (instruction.opcode.name == "bra" && !instruction.guard) return false;
  }
  for (std::uint32_t i = 0; i < editor.size(); ++i) {
    const ptx::Instruction& instruction = editor.at(i);
    if (instruction.opcode.name != "bra" || (i >= from && i < to)) continue;
    const auto* label = instruction.operands[0].as<ptx::LabelRef>();
    if (!label) continue;
    const std::uint32_t target = editor.entry().labels[label->index].instruction;
    if (target > from && target <= to) return false;
  }
  return true;
}

}  // namespace mlaindex::mutation
