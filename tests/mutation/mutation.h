// The defects that the suite knows how to plant.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "generator/plan.h"
#include "tests/mutation/editor.h"

namespace mlaindex::mutation {

// One kind of defect. Every instruction for which `is_site` holds gives one mutant.
struct Mutation {
  std::string kind;  // "drop fence.proxy.async"
  std::function<bool(const Editor&, std::uint32_t index)> is_site;
  std::function<void(Editor&, std::uint32_t index)> plant;
};

// Instructions that vanish: fences, waits, commits, arrivals, loads, barriers, allocation.
std::vector<Mutation> dropped_instructions();
// Instructions that come too early or too late.
std::vector<Mutation> moved_instructions();
// Phases, arrivals, bytes, ring depths; the barrier next door.
std::vector<Mutation> wrong_counts(const Plan& plan);
// Descriptors, instruction descriptors, addresses and columns.
std::vector<Mutation> wrong_operands();
// Tensor memory and registers.
std::vector<Mutation> wrong_resources();

std::vector<Mutation> all_mutations(const Plan& plan);

// A planted defect. `name` is stable as long as the kernel keeps its instructions.
struct Mutant {
  std::string name;  // "sm_100a/q_resident drop fence.proxy.async #1"
  std::string kind;
  ptx::Module module;
};

// Every mutation at every site that it changes, in the order of kinds, then of the text.
std::vector<Mutant> mutants_of(const std::string& kernel_name, const ptx::Module& kernel, const Plan& plan);

}  // namespace mlaindex::mutation
