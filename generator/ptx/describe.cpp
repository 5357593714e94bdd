#include "generator/ptx/describe.h"

#include <algorithm>

#include "generator/ptx/describe_rules.h"
#include "generator/ptx/instruction_kinds.h"
#include "generator/ptx/verify.h"
#include "generator/ptx/warp_reach.h"

namespace mlaindex::ptx {
namespace {

std::string warps_text(const WarpSet& set) {
  if (set.num_warps == 1) return "warp " + std::to_string(set.first_warp);
  return "warps " + std::to_string(set.first_warp) + "-" + std::to_string(set.first_warp + set.num_warps - 1);
}

std::string census_text(const Function& entry, const std::vector<bool>& counted) {
  std::vector<std::string> items;
  for (const auto& [kind, count] : census(entry, counted)) items.push_back(kind + " " + std::to_string(count));
  return items.empty() ? "nothing that counts" : joined(items);
}

void describe_census(Description& d) {
  if (d.context.roles.empty()) d.note("census", census_text(d.entry, {}));
  for (std::size_t i = 0; i < d.context.roles.size(); ++i) {
    const WarpSet& set = d.context.roles[i];
    d.note("census", set.role + " (" + warps_text(set) + "): " + census_text(d.entry, d.reached[i]));
  }
}

void describe_registers(Description& d, int launch_registers) {
  std::string text = std::to_string(launch_registers) + " a thread at launch";
  for (const char* name : {"maxntid", "reqntid", "minnctapersm", "maxnreg"})
    if (const Directive* directive = d.entry.find_performance(name))
      text += std::string(", .") + name + " " + joined(directive->arguments);
  std::uint64_t warps = 0, wanted = 0;  // of the roles, in registers a lane
  for (const WarpSet& set : d.context.roles) warps += set.num_warps;
  bool reallocates = false;
  for (std::size_t role = 0; role < d.context.roles.size(); ++role) {
    auto registers = static_cast<std::uint64_t>(launch_registers);
    for (std::size_t i = 0; i < d.entry.instructions.size(); ++i) {
      const Instruction& instruction = d.entry.instructions[i];
      if (instruction.opcode.name != "setmaxnreg" || !d.reached[role][i] || instruction.operands.empty()) continue;
      registers = d.values.constant(instruction.operands[0]).value_or(registers);
      const std::string& name = d.context.roles[role].role;
      text += "; " + name.substr(0, name.find_first_of(":,")) + " " + instruction.opcode.modifiers.front() + " to " +
              std::to_string(registers) + " (line " + std::to_string(instruction.location.line) + ")";
      reallocates = true;
    }
    wanted += registers * d.context.roles[role].num_warps;
  }
  if (reallocates)
    text += "; together " + std::to_string(wanted * 32) + " of the pool's " +
            std::to_string(warps * static_cast<std::uint64_t>(launch_registers) * 32);
  else text += ", no setmaxnreg";
  d.note("registers", std::move(text));
}

void describe_tensor_memory(Description& d) {
  std::vector<std::string> items;
  for (std::uint32_t i = 0; i < d.entry.instructions.size(); ++i) {
    const Instruction& instruction = d.entry.instructions[i];
    const bool alloc = is(instruction, "tcgen05", "alloc"), dealloc = is(instruction, "tcgen05", "dealloc");
    const bool permit = is(instruction, "tcgen05", "relinquish_alloc_permit");
    if (!alloc && !dealloc && !permit) continue;
    std::string text = permit ? "permit relinquished" : alloc ? "allocates" : "frees";
    if (!permit && instruction.operands.size() > 1) {
      const auto columns = d.values.constant(instruction.operands[1]);
      text.append(" ").append(columns ? std::to_string(*columns) : "unknown").append(" columns");
    }
    items.push_back(text + " (" + d.place(i) + ")");
  }
  if (!items.empty()) d.note("tensor memory", joined(items));
}

void describe_proxy_fences(Description& d) {
  std::vector<std::string> items;
  for (std::uint32_t i = 0; i < d.entry.instructions.size(); ++i) {
    const Instruction& instruction = d.entry.instructions[i];
    if (is_proxy_fence(instruction) || is(instruction, "fence", "mbarrier_init"))
      items.push_back(instruction.opcode.text() + " (" + d.place(i) + ")");
  }
  d.note("proxy fence", items.empty() ? "none" : joined(items));
}

}  // namespace

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return text;
}

Description::Description(const Module& in_module, const Function& of_entry, const PassContext& with)
    : module(in_module), entry(of_entry), context(with), flow(of_entry), values(of_entry) {
  for (const WarpSet& set : context.roles) {
    std::vector<bool> any(entry.instructions.size());
    for (std::uint32_t warp = set.first_warp; warp < set.first_warp + set.num_warps; ++warp) {
      const std::vector<bool> one = reached_by_warp(entry, flow, warp);
      std::transform(any.begin(), any.end(), one.begin(), any.begin(), std::logical_or<>());
    }
    reached.push_back(std::move(any));
  }
}

std::string Description::place(std::uint32_t instruction) const {
  const std::string line = "line " + std::to_string(entry.instructions[instruction].location.line);
  std::string roles;
  std::size_t count = 0;
  for (std::size_t role = 0; role < reached.size(); ++role) {
    if (!reached[role][instruction]) continue;
    const std::string& name = context.roles[role].role;
    roles.append(count++ == 0 ? "" : " and ").append(name, 0, name.find_first_of(":,"));
  }
  return count == 0 || count == reached.size() ? line : roles + " " + line;
}

std::vector<Note> describe(const Module& module, const Function& entry, const PassContext& context,
                           int launch_registers) {
  if (entry.instructions.empty()) return {};
  Description description(module, entry, context);
  describe_census(description);
  describe_registers(description, launch_registers);
  describe_barriers(description);
  describe_descriptors(description);
  describe_tensor_memory(description);
  describe_proxy_fences(description);
  return std::move(description.notes);
}

}  // namespace mlaindex::ptx
