// The parts of a description. Private to it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "generator/ptx/control_flow.h"
#include "generator/ptx/describe.h"
#include "generator/ptx/register_values.h"

namespace mlaindex::ptx {

// The barrier that an operand names.
struct BarrierPlace {
  std::string group;                   // "key_full", "shared+1032", "a barrier not known here"
  std::optional<std::uint32_t> index;  // in its group; nothing: computed at run time, some barrier from there on
  bool in_array = false;               // the plan says that the group has several
};

// One entry and what was said about it.
class Description {
 public:
  Description(const Module& module, const Function& entry, const PassContext& context);

  void note(const char* subject, std::string text) { notes.push_back({"verify", subject, std::move(text)}); }
  // "TMA producer line 359", the role's name up to a comma or colon; "line 359" where no role of the
  // context comes, or all do.
  std::string place(std::uint32_t instruction) const;
  // Of the operand of an instruction on mbarriers.
  BarrierPlace barrier(const Operand& operand) const;

  const Module& module;
  const Function& entry;
  const PassContext& context;
  const ControlFlow flow;
  const RegisterValues values;
  std::vector<std::vector<bool>> reached;  // per role of the context, by instruction
  std::vector<Note> notes;
};

void describe_barriers(Description& description);
void describe_descriptors(Description& description);

// "1, 2, 3"
std::string joined(const std::vector<std::string>& items);

}  // namespace mlaindex::ptx
