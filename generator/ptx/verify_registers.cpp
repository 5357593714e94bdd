// Rule "register_pool".
#include <algorithm>

#include "generator/ptx/instruction_kinds.h"
#include "generator/ptx/verify_rules.h"

namespace mlaindex::ptx {
namespace {

constexpr int kThreadsPerWarpgroup = 128;
constexpr std::uint64_t kMinCount = 24, kMaxCount = 256, kCountStep = 8;

// Product of a directive's numbers, such as `.maxntid 384, 1, 1`; 0 when it is not given.
int product_of(const Function& function, const char* name) {
  const Directive* directive = function.find_performance(name);
  if (!directive) return 0;
  int product = 1;
  for (const std::string& argument : directive->arguments) {
    const int value = std::atoi(argument.c_str());
    if (value <= 0 || value > 65536 / product) return 0;
    product *= value;
  }
  return product;
}

}  // namespace

void check_register_pool(Examination& examination) {
  const Function& function = examination.function;
  std::vector<int> increases, decreases;
  for (const Instruction& instruction : function.instructions) {
    if (instruction.opcode.name != "setmaxnreg" || instruction.operands.empty()) continue;
    const auto* literal = instruction.operands[0].as<IntegerLiteral>();
    const std::uint64_t count = literal ? literal->value : 0;
    if (count < kMinCount || count > kMaxCount || count % kCountStep != 0) {
      examination.report("register_pool", instruction, "the count must be a multiple of 8 from 24 to 256");
      continue;
    }
    const bool increase = instruction.opcode.has("inc");
    (increase ? increases : decreases).push_back(static_cast<int>(count));
    const int launched = examination.context.launch_registers;
    if (launched > 0 && (increase ? static_cast<int>(count) < launched : static_cast<int>(count) > launched))
      examination.report("register_pool", instruction,
                         std::string(increase ? "increases" : "decreases") + " to less or more than the " +
                             std::to_string(launched) + " registers of the launch");
  }
  if (increases.empty() && decreases.empty()) return;
  if (increases.empty() || decreases.empty())
    examination.report("register_pool", increases.empty() ? "registers are given up by setmaxnreg.dec and taken by no setmaxnreg.inc"
                                                          : "setmaxnreg.inc takes registers that no setmaxnreg.dec gives up");

  const int threads = std::max(product_of(function, "maxntid"), product_of(function, "reqntid"));
  const bool capped = function.find_performance("minnctapersm") || function.find_performance("maxnreg");
  if (threads == 0 || !capped) {
    examination.report("register_pool",
                       "setmaxnreg needs .maxntid or .reqntid, and .minnctapersm or .maxnreg: without "
                       "them the assembler ignores it");
    return;
  }
  const int launched = examination.context.launch_registers;
  if (increases.empty() || launched == 0) return;
  // At least one warpgroup takes the largest increase; the others keep at least the smallest count.
  const int warpgroups = threads / kThreadsPerWarpgroup;
  const int pool = warpgroups * launched;
  const int smallest = decreases.empty() ? launched : *std::min_element(decreases.begin(), decreases.end());
  const int needed = *std::max_element(increases.begin(), increases.end()) + (warpgroups - 1) * smallest;
  if (needed > pool)
    examination.report("register_pool", "the warpgroups need at least " + std::to_string(needed) +
                                            " registers a lane, the launch has " + std::to_string(pool) +
                                            ": setmaxnreg.inc would wait for ever");
}

}  // namespace mlaindex::ptx
