// Visits every operand of an instruction, those inside lists and addresses included.
#pragma once

#include <utility>

#include "generator/ptx/module.h"

namespace mlaindex::ptx {

// `InstructionT` is Instruction or const Instruction; `visit` gets each Operand by reference.
template <class InstructionT, class Visitor>
void visit_operands(InstructionT& instruction, Visitor&& visit) {
  for (auto& operand : instruction.operands) {
    visit(operand);
    if (auto* list = operand.template as<OperandList>())
      for (auto& element : list->elements) visit(element);
    if (auto* address = operand.template as<Address>())
      for (auto& coordinate : address->coordinates) visit(coordinate);
  }
}

}  // namespace mlaindex::ptx
