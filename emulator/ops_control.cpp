// Branches, exits, and instructions that only steer the machine.
#include <algorithm>

#include "emulator/lane_ops.h"

namespace mlaindex::emulator {
namespace {

Step branch(Execution& x) {
  x.taken = x.mask;
  return Step::branch;
}

Step leave(Execution&) { return Step::exited; }

Step trap(Execution& x) { return x.fault(FaultKind::trap, "the kernel executed trap in lane " + std::to_string(x.lowest_lane())); }

Step nothing(Execution&) { return Step::next; }

// Grids run one after the other, so that the wait is over at once.
Step wait_for_earlier_launches(Execution& x) {
  x.warp.earlier_launches_done |= x.mask;
  return Step::next;
}

Step let_next_launch_start(Execution& x) {
  x.cta().next_launch_may_start = true;
  return Step::next;
}

Step pause(Execution&) { return Step::yield; }

// setmaxnreg moves registers of whole warpgroups between threads and the CTA's pool.
struct RegisterSettings {
  std::uint32_t registers;
  bool increase;
};

Step set_max_registers(Execution& x) {
  const auto s = x.in.settings<RegisterSettings>();
  if (!x.gathered(kAllLanes)) return x.gather(kAllLanes);
  Warp& warp = x.warp;
  if (s.increase ? s.registers < warp.registers : s.registers > warp.registers)
    return x.fault(FaultKind::register_pool, std::string(s.increase ? "increasing" : "decreasing") + " from " +
                                                 std::to_string(warp.registers) + " to " + std::to_string(s.registers) +
                                                 " registers a thread");
  if (s.increase && (s.registers - warp.registers) * kWarpSize > x.cta().free_registers())
    return x.block(WaitKind::register_pool, s.registers - warp.registers);
  warp.registers = s.registers;
  x.cta().note_register_request(warp, s.registers);
  ++x.cluster().changes;
  return Step::next;
}

Step create_policy(Execution& x) {  // a cache hint: any value will do
  auto* d = x.destination<std::uint64_t>();
  for_lanes(x.mask, [=](unsigned l) { d[l] = 0x1000000000000000; });
  return Step::next;
}

struct BranchTableSettings {
  const ptx::BranchTable* table;
};

// brx.idx: the executing lanes must agree, since the fragment moves as one.
Step indexed_branch(Execution& x) {
  const auto* table = x.in.settings<BranchTableSettings>().table;
  const auto* index = x.source<std::uint32_t>(0);
  const std::uint32_t first = index[x.lowest_lane()];
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1)
    if (index[std::countr_zero(rest)] != first)
      return x.fault(FaultKind::unknown_instruction, "brx.idx with an index that differs between lanes");
  if (first >= table->labels.size())
    return x.fault(FaultKind::illegal_operand, "brx.idx index " + std::to_string(first) + " of " + std::to_string(table->labels.size()));
  if (x.mask != x.fragment.mask)
    return x.fault(FaultKind::unknown_instruction, "a guarded brx.idx");
  const ptx::Function& function = *x.cluster().launch.program.function;
  x.fragment.pc = function.labels[table->labels[first]].instruction - 1;  // the step that follows adds 1
  return Step::next;
}

}  // namespace

bool decode_control(InstructionDecoder& d) {
  const std::string_view n = d.name();
  if (n == "bra") {
    d.ignore({"uni"});
    const auto target = d.label(0);
    if (!target) { d.fail("the target must be a label"); return true; }
    d.out().target = *target;
    d.handler(branch);
  } else if (n == "brx") {
    d.ignore({"idx", "uni"});
    d.add(0, 4);
    const auto* symbol = d.num_operands() > 1 ? d.source().operands[1].as<ptx::SymbolRef>() : nullptr;
    if (symbol == nullptr || symbol->table != ptx::SymbolTable::branch_table) { d.fail("a branch table is needed"); return true; }
    d.out().set(BranchTableSettings{&d.layout().function().branch_tables[symbol->index]});
    d.handler(indexed_branch);
  } else if (n == "ret" || n == "exit") {
    d.ignore({"uni"});
    d.handler(leave);
  } else if (n == "trap" || n == "brkpt") {
    d.handler(trap);
  } else if (n == "nanosleep") {
    d.ignore({"u32"});
    d.handler(pause);
  } else if (n == "prefetch" || n == "prefetchu" || n == "discard" || n == "applypriority" || n == "pmevent") {
    while (!d.modifiers().empty()) (void)d.take(d.modifiers().front());
    d.handler(nothing);
  } else if (n == "griddepcontrol") {
    if (d.take("wait")) d.handler(wait_for_earlier_launches);
    else if (d.take("launch_dependents")) d.handler(let_next_launch_start);
  } else if (n == "setmaxnreg") {
    const auto direction = d.take_any({"inc", "dec"});
    d.ignore({"sync", "aligned", "u32"});
    const auto registers = d.integer(0);
    if (!direction || !registers || *registers < 24 || *registers > 256 || *registers % 8 != 0) {
      d.fail("the register count must be 24 to 256 in steps of 8");
      return true;
    }
    d.out().set(RegisterSettings{static_cast<std::uint32_t>(*registers), *direction == "inc"});
    d.handler(set_max_registers);
  } else if (n == "createpolicy") {
    while (!d.modifiers().empty()) (void)d.take(d.modifiers().front());
    d.add(0, 8);
    d.handler(create_policy);
  } else {
    return false;
  }
  return true;
}

}  // namespace mlaindex::emulator
