#include "generator/model/loop_costs.h"

#include <algorithm>
#include <map>

#include "generator/model/hot_loop.h"

namespace mlaindex::model {
namespace {

// relu in all its forms, and the multiply-adds.
bool folds(const SassInstruction& instruction) {
  const std::string_view base = base_opcode(instruction);
  // HFMA2 without a type is how ptxas writes a constant.
  const bool bf16_product = base.starts_with("HFMA2") && instruction.opcode.find(".BF16") != std::string::npos;
  return folded_elements(instruction) > 0 || base == "FMNMX" || base == "FADD2" || bf16_product;
}

PipeClocks clocks_of(const SassInstruction& instruction, Arch arch) {
  PipeClocks clocks{.issue = 1};
  const auto [pipe, busy] = opcode_cost(arch, base_opcode(instruction));
  switch (pipe) {
    case Pipe::none: break;
    case Pipe::alu: clocks.alu = busy; break;
    case Pipe::fma: clocks.fma = busy; break;
    case Pipe::lsu: clocks.lsu = busy; break;
    case Pipe::uniform: clocks.uniform = busy; break;
  }
  return clocks;
}

}  // namespace

PipeClocks& PipeClocks::operator+=(const PipeClocks& more) noexcept {
  issue += more.issue;
  alu += more.alu;
  fma += more.fma;
  lsu += more.lsu;
  uniform += more.uniform;
  return *this;
}

PipeClocks operator*(const PipeClocks& clocks, double factor) noexcept {
  return {clocks.issue * factor, clocks.alu * factor, clocks.fma * factor, clocks.lsu * factor, clocks.uniform * factor};
}

LoopCosts loop_costs(const SassListing& listing, const std::vector<std::size_t>& pass, Arch arch) {
  LoopCosts costs;
  std::map<std::string_view, int> counts;
  int packed = 0, single = 0;
  for (const std::size_t index : pass) {
    const SassInstruction& instruction = listing.instructions[index];
    const int elements = folded_elements(instruction);
    (elements == 1 ? single : packed) += elements;
    (folds(instruction) ? costs.fold : costs.other) += clocks_of(instruction, arch);
    ++counts[base_opcode(instruction)];
  }
  // Beside packed multiply-adds, single ones finish a sum.
  costs.elements = packed > 0 ? packed : single;
  for (const auto& [opcode, count] : counts) costs.opcodes.push_back({std::string(opcode), count});
  std::ranges::stable_sort(costs.opcodes, std::ranges::greater{}, &OpcodeCount::count);
  return costs;
}

Result<LoopCosts> loop_costs(std::string_view sass, Arch arch) {
  const Result<SassListing> listing = parse_sass(sass);
  if (!listing) return listing.error();
  const Result<std::vector<std::size_t>> pass = math_pass(*listing);
  if (!pass) return pass.error();
  return loop_costs(*listing, *pass, arch);
}

}  // namespace mlaindex::model
