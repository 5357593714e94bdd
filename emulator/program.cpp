#include "emulator/program.h"

#include <charconv>

#include "emulator/decoder.h"
#include "emulator/execution.h"

namespace mlaindex::emulator {
namespace {

constexpr Family kFamilies[] = {
    decode_integer, decode_bits, decode_float, decode_half, decode_compare, decode_move, decode_convert,
    decode_memory, decode_atomic, decode_control, decode_fence, decode_warp, decode_barrier,
    decode_mbarrier, decode_bulk_copy, decode_wgmma, decode_tcgen05, decode_cluster_launch,
};

Step refuse(Execution& x) {
  return x.fault(FaultKind::unknown_instruction, x.cluster().launch.program.refusals[x.in.target]);
}

Step fall_off(Execution&) { return Step::exited; }

void decode(Layout& layout, const ptx::Instruction& source, Instruction& out) {
  InstructionDecoder decoder(layout, source, out);
  bool known = false;
  for (const Family family : kFamilies)
    if ((known = family(decoder))) break;
  std::string why = decoder.failure();
  if (!known) why = "this instruction is not modelled";
  else if (why.empty() && !decoder.modifiers().empty())
    why = "modifier ." + std::string(decoder.modifiers().front()) + " is not modelled";
  if (why.empty() && out.handler != nullptr) return;
  if (why.empty()) why = "this form is not modelled";
  out.handler = refuse;
  out.target = static_cast<std::uint32_t>(layout.program().refusals.size());
  layout.program().refusals.push_back(source.opcode.text() + ": " + why);
}

std::array<std::uint32_t, 3> numbers(const ptx::Directive* directive, std::uint32_t missing) {
  std::array<std::uint32_t, 3> out{};
  if (directive == nullptr) return out;
  for (std::size_t i = 0; i < 3; ++i) {
    out[i] = missing;
    if (i < directive->arguments.size()) {
      const std::string& text = directive->arguments[i];
      std::from_chars(text.data(), text.data() + text.size(), out[i]);
    }
  }
  return out;
}

bool touches_grid_state(const ptx::Instruction& in) {
  if (in.opcode.name == "clusterlaunchcontrol") return true;
  return (in.opcode.name == "atom" || in.opcode.name == "red") && !in.opcode.has("shared") &&
         !in.opcode.has("shared::cta");
}

}  // namespace

Result<Program> load_program(const ptx::Module& module, const std::string& entry, std::uint32_t shared_base) {
  const ptx::Function* function = module.find_function(entry);
  if (function == nullptr || !function->is_entry || !function->has_body) {
    std::string names;
    for (const ptx::Function& f : module.functions)
      if (f.is_entry) names += (names.empty() ? "" : ", ") + f.name;
    return Error{ErrorCode::invalid_argument, "the module has no entry '" + entry + "'",
                 names.empty() ? "it has none at all" : "it has: " + names};
  }
  Program program;
  program.function = function;
  program.entry = entry;
  Layout layout(module, *function, program);
  if (Status status = layout.place_variables(shared_base); !status.ok()) return status.error();
  program.instructions.resize(function->instructions.size() + 1);
  for (std::size_t i = 0; i < function->instructions.size(); ++i) {
    decode(layout, function->instructions[i], program.instructions[i]);
    const ptx::Opcode& opcode = function->instructions[i].opcode;
    program.waits_for_launches = program.waits_for_launches || (opcode.name == "griddepcontrol" && opcode.has("wait"));
    program.uses_grid_state = program.uses_grid_state || touches_grid_state(function->instructions[i]);
  }
  program.instructions.back().handler = fall_off;
  program.required_threads = numbers(function->find_performance("reqntid"), 1);
  program.max_threads = numbers(function->find_performance("maxntid"), 1);
  program.required_cluster = numbers(function->find_performance("reqnctapercluster"), 1);
  program.min_ctas = numbers(function->find_performance("minnctapersm"), 1)[0];
  program.max_registers = numbers(function->find_performance("maxnreg"), 1)[0];
  return program;
}

}  // namespace mlaindex::emulator
