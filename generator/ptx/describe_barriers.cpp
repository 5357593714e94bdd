// mbarriers: who initialises, arrives and waits, and which bytes they count.
#include <map>
#include <optional>
#include <set>

#include "generator/ptx/describe_rules.h"
#include "generator/ptx/instruction_kinds.h"

namespace mlaindex::ptx {
namespace {

enum class UseKind { init, arrival, load, wait };

// An instruction that names a barrier of a group.
struct BarrierUse {
  UseKind kind;
  std::string text;
  std::optional<std::uint32_t> index;  // as BarrierPlace
};

// The uses of one group, in the order of the text.
struct GroupUses {
  BarrierPlace place;  // of the first one
  std::vector<BarrierUse> uses;
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

std::optional<BarrierUse> use_of(const Description& d, std::uint32_t index, std::optional<std::uint32_t> barrier) {
  const Instruction& instruction = d.entry.instructions[index];
  const std::string place = " (" + d.place(index) + ")";
  const auto use = [&](UseKind kind, std::string text) { return BarrierUse{kind, std::move(text), barrier}; };
  if (is_tma_load(instruction)) return use(UseKind::load, load_text(d, instruction) + place);
  if (is(instruction, "tcgen05", "commit")) return use(UseKind::arrival, "tcgen05.commit" + place);
  if (is_barrier_wait(instruction)) return use(UseKind::wait, d.place(index));
  if (is(instruction, "mbarrier", "init"))
    return use(UseKind::init, constant_text(d, instruction.operands.back()) + " arrivals" + place);
  if (instruction.opcode.has("expect_tx"))
    return use(UseKind::arrival, "expecting " + constant_text(d, instruction.operands.back()) + " bytes" + place);
  if (is(instruction, "mbarrier", "arrive")) return use(UseKind::arrival, "1" + place);
  return std::nullopt;
}

// "key_full: init 1 arrivals (line 104); arrivals: ...; waits: [0] math line 508, math line 636". Where
// instructions name different barriers of the group, [0] tells which; without it, any of them.
std::string group_text(const GroupUses& group) {
  const BarrierPlace& place = group.place;
  const std::vector<BarrierUse>& uses = group.uses;  // no structured binding: clang 14 cannot capture those
  std::set<std::optional<std::uint32_t>> indices;
  for (const BarrierUse& use : uses) indices.insert(use.index);
  const bool differ = indices.size() > 1, computed = indices.contains(std::nullopt);
  const auto numbered = [](std::uint32_t index) { return std::string("[").append(std::to_string(index)).append("]"); };
  const auto all = [&](UseKind kind, const std::string& label, const char* without) {
    std::vector<std::string> items;
    for (const BarrierUse& use : uses)
      if (use.kind == kind) items.push_back(differ && use.index ? numbered(*use.index) + " " + use.text : use.text);
    return items.empty() ? without : label + joined(items);
  };
  std::string name = place.group;
  if (place.in_array && !differ && !computed) name += numbered(**indices.begin());
  if (!place.in_array && computed) name += " and on";
  return name + ": init " + all(UseKind::init, "", "not seen") + all(UseKind::arrival, "; arrivals: ", "") +
         all(UseKind::load, "; TMA: ", "") + all(UseKind::wait, "; waits: ", "");
}

}  // namespace

void describe_barriers(Description& d) {
  std::vector<std::string> order;
  std::map<std::string, GroupUses> groups;
  for (std::uint32_t i = 0; i < d.entry.instructions.size(); ++i) {
    const Operand* operand = barrier_operand(d.entry.instructions[i]);
    if (!operand) continue;
    const BarrierPlace place = d.barrier(*operand);
    const auto use = use_of(d, i, place.index);
    if (!use) continue;
    const auto [group, is_new] = groups.try_emplace(place.group, GroupUses{place, {}});
    if (is_new) order.push_back(place.group);
    group->second.uses.push_back(*use);
  }
  for (const std::string& name : order) d.note("mbarrier", group_text(groups[name]));
}

BarrierPlace Description::barrier(const Operand& operand) const {
  std::optional<Anchor> anchor;
  if (const auto* address = operand.as<Address>()) anchor = values.anchor(*address);
  else anchor = values.of(operand).anchor;
  const bool local = anchor && anchor->table == SymbolTable::local_variable;
  if (!anchor || (!local && anchor->table != SymbolTable::module_variable)) return {"a barrier not known here", 0, false};
  const Variable& variable = local ? entry.variables[anchor->index] : module.variables[anchor->index];
  const bool dynamic = variable.linkage == "extern";  // dynamic shared memory is an extern array
  if (const auto found = dynamic ? find_barrier(context.barriers, static_cast<std::uint32_t>(anchor->offset)) : std::nullopt) {
    const bool in_array = found->group->count > 1;
    return {found->group->name, anchor->exact || !in_array ? std::optional(found->index) : std::nullopt, in_array};
  }
  return {variable.name + "+" + std::to_string(anchor->offset), anchor->exact ? std::optional(0u) : std::nullopt, false};
}

}  // namespace mlaindex::ptx
