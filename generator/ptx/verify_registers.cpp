// Rule "register_pool".
#include <algorithm>
#include <span>
#include <vector>

#include "generator/ptx/instruction_kinds.h"
#include "generator/ptx/thread_paths.h"
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

struct Request {
  std::uint32_t instruction;  // a setmaxnreg
  int count;
};

// What the warpgroup holds in the end, at least: the smallest count that it may ask for.
int registers_of(const ThreadPaths& paths, std::uint32_t warpgroup, std::span<const Request> requests, int launched) {
  int registers = 0;
  for (const Request& request : requests) {
    if (paths.threads(4 * warpgroup, std::span(&request.instruction, 1)) == 0) continue;
    registers = registers == 0 ? request.count : std::min(registers, request.count);
  }
  return registers == 0 ? launched : registers;
}

}  // namespace

void check_register_pool(Examination& examination) {
  const Function& function = examination.function;
  std::vector<int> increases, decreases;
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < examination.size(); ++i) {
    const Instruction& instruction = examination.at(i);
    if (instruction.opcode.name != "setmaxnreg" || instruction.operands.empty()) continue;
    const auto* literal = instruction.operands[0].as<IntegerLiteral>();
    const std::uint64_t count = literal ? literal->value : 0;
    if (count < kMinCount || count > kMaxCount || count % kCountStep != 0) {
      examination.report("register_pool", instruction, "the count must be a multiple of 8 from 24 to 256");
      continue;
    }
    const bool increase = instruction.opcode.has("inc");
    (increase ? increases : decreases).push_back(static_cast<int>(count));
    requests.push_back({i, static_cast<int>(count)});
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
  const ThreadPaths& paths = examination.paths;
  const int warpgroups = threads / kThreadsPerWarpgroup;
  const int pool = warpgroups * launched;
  int needed = 0;
  if (paths.num_warps() > 0) {
    for (int group = 0; group < warpgroups; ++group)
      needed += registers_of(paths, static_cast<std::uint32_t>(group), requests, launched);
  } else {  // at least one takes the largest increase; the others keep at least the smallest count
    const int smallest = decreases.empty() ? launched : *std::min_element(decreases.begin(), decreases.end());
    needed = *std::max_element(increases.begin(), increases.end()) + (warpgroups - 1) * smallest;
  }
  if (needed > pool)
    examination.report("register_pool", "the warpgroups need at least " + std::to_string(needed) +
                                            " registers a lane, the launch has " + std::to_string(pool) +
                                            ": setmaxnreg.inc would wait for ever");
}

}  // namespace mlaindex::ptx
