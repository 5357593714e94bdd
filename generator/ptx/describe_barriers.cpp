// mbarriers: who initialises, arrives and waits, and which bytes they count.
#include <map>

#include "generator/ptx/describe_rules.h"
#include "generator/ptx/instruction_kinds.h"

namespace mlaindex::ptx {
namespace {

// What is said of the barriers of one name, in the order of the text.
struct BarrierUse {
  std::vector<std::string> inits, arrivals, waits, loads;
};

// The operand of an instruction that names its mbarrier; null when it has none.
const Operand* barrier_operand(const Instruction& instruction) {
  const std::size_t first = is_tma_load(instruction) ? 2 : 0;
  if (!is_tma_load(instruction) && instruction.opcode.name != "mbarrier" && !is(instruction, "tcgen05", "commit"))
    return nullptr;
  for (std::size_t i = first; i < instruction.operands.size(); ++i)
    if (instruction.operands[i].as<Address>() || (is(instruction, "tcgen05", "commit") && i == 0))
      return &instruction.operands[i];
  return nullptr;
}

std::string constant_text(const Description& d, const Operand& operand) {
  const auto value = d.values.constant(operand);
  return value ? std::to_string(*value) : "a computed number of";
}

// "16384 of parameter 1", as far as the map and its box are known.
std::string load_text(const Description& d, const Instruction& load) {
  const auto parameter = d.values.tensor_map_parameter(load);
  if (!parameter) return "bytes";
  const auto box = d.context.tensor_map_box_bytes.find(*parameter);
  const std::string map = "the map in parameter " + std::to_string(*parameter);
  return box == d.context.tensor_map_box_bytes.end() ? map : std::to_string(box->second) + " bytes of " + map;
}

void add(Description& d, std::uint32_t index, BarrierUse& use) {
  const Instruction& instruction = d.entry.instructions[index];
  const std::string place = " (" + d.place(index) + ")";
  if (is_tma_load(instruction)) {
    use.loads.push_back(load_text(d, instruction) + place);
  } else if (is(instruction, "tcgen05", "commit")) {
    use.arrivals.push_back("tcgen05.commit" + place);
  } else if (is(instruction, "mbarrier", "init")) {
    use.inits.push_back(constant_text(d, instruction.operands.back()) + " arrivals" + place);
  } else if (is_barrier_wait(instruction)) {
    use.waits.push_back(d.place(index));
  } else if (instruction.opcode.has("expect_tx")) {
    use.arrivals.push_back("expecting " + constant_text(d, instruction.operands.back()) + " bytes" + place);
  } else if (is(instruction, "mbarrier", "arrive")) {
    use.arrivals.push_back("1" + place);
  }
}

}  // namespace

void describe_barriers(Description& d) {
  std::vector<std::string> order;
  std::map<std::string, BarrierUse> uses;
  for (std::uint32_t i = 0; i < d.entry.instructions.size(); ++i) {
    const Operand* operand = barrier_operand(d.entry.instructions[i]);
    if (!operand) continue;
    const std::string name = d.barrier(*operand);
    if (!uses.contains(name)) order.push_back(name);
    add(d, i, uses[name]);
  }
  const auto part = [](const char* label, const std::vector<std::string>& items) {
    return items.empty() ? std::string() : std::string("; ") + label + " " + joined(items);
  };
  for (const std::string& name : order) {
    const BarrierUse& use = uses[name];
    d.note("mbarrier", name + ": init " + (use.inits.empty() ? "not seen" : joined(use.inits)) +
                           part("arrivals:", use.arrivals) + part("TMA:", use.loads) + part("waits:", use.waits));
  }
}

std::string Description::barrier(const Operand& operand) const {
  std::optional<Anchor> anchor;
  if (const auto* address = operand.as<Address>()) anchor = values.anchor(*address);
  else anchor = values.of(operand).anchor;
  const bool local = anchor && anchor->table == SymbolTable::local_variable;
  if (!anchor || (!local && anchor->table != SymbolTable::module_variable)) return "a barrier not known here";
  const Variable& variable = local ? entry.variables[anchor->index] : module.variables[anchor->index];
  const auto offset = static_cast<std::uint32_t>(anchor->offset);
  const bool dynamic = variable.linkage == "extern";  // dynamic shared memory is an extern array
  std::string name = dynamic ? barrier_name(context.barriers, offset) : std::string();
  if (name.empty()) return variable.name + "+" + std::to_string(anchor->offset) + (anchor->exact ? "" : " and on");
  if (!anchor->exact) name = name.substr(0, name.find('['));  // some barrier of the group
  return name;
}

}  // namespace mlaindex::ptx
