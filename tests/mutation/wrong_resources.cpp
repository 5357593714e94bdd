#include <algorithm>

#include "tests/mutation/mutation.h"
#include "tests/mutation/sites.h"

namespace mlaindex::mutation {
namespace {

using ptx::ScalarType;

bool is_increase(const ptx::Instruction& i) { return is_setmaxnreg(i) && i.opcode.has("inc"); }
bool is_decrease(const ptx::Instruction& i) { return is_setmaxnreg(i) && i.opcode.has("dec"); }

Mutation columns(std::string kind, Matcher what, const char* shift) {
  return {std::move(kind), each(what),
          [=](Editor& editor, std::uint32_t index) { editor.change_operand(index, 1, shift, ScalarType::b32, 1); }};
}

Mutation registers(std::string kind, Matcher what, std::uint64_t more) {
  return {std::move(kind), each(what), [=](Editor& editor, std::uint32_t index) {
            ptx::Operand& count = editor.at(index).operands[0];
            count = literal(*editor.constant(count) + more);
          }};
}

void other_direction(Editor& editor, std::uint32_t index) {
  auto& modifiers = editor.at(index).opcode.modifiers;
  for (std::string& modifier : modifiers) {
    if (modifier == "inc") modifier = "dec";
    else if (modifier == "dec") modifier = "inc";
  }
}

}  // namespace

std::vector<Mutation> wrong_resources() {
  return {
      columns("half of the columns allocated", is_alloc, "shr"),
      columns("twice the columns allocated", is_alloc, "shl"),
      columns("half of the columns freed", is_dealloc, "shr"),
      registers("setmaxnreg.inc 32 more", is_increase, 32),
      registers("setmaxnreg.dec 24 more", is_decrease, 24),
      {"setmaxnreg the other way", each(is_setmaxnreg), other_direction},
      {"wgmma.wait_group leaves one more pending", each(is_wgmma_wait),
       [](Editor& editor, std::uint32_t index) {
         ptx::Operand& pending = editor.at(index).operands[0];
         pending = literal(*editor.constant(pending) + 1);
       }},
  };
}

}  // namespace mlaindex::mutation
