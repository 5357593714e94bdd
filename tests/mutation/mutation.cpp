#include "tests/mutation/mutation.h"

#include <utility>

namespace mlaindex::mutation {

std::vector<Mutation> all_mutations(const Plan& plan) {
  std::vector<Mutation> all;
  for (std::vector<Mutation> family : {dropped_instructions(), moved_instructions(), wrong_counts(plan),
                                       wrong_operands(), wrong_resources()})
    for (Mutation& mutation : family) all.push_back(std::move(mutation));
  return all;
}

std::vector<Mutant> mutants_of(const std::string& kernel_name, const ptx::Module& kernel, const Plan& plan) {
  std::vector<Mutant> mutants;
  const Editor original(kernel);
  for (const Mutation& mutation : all_mutations(plan)) {
    int site = 0;
    for (std::uint32_t i = 0; i < original.size(); ++i) {
      if (!mutation.is_site(original, i)) continue;
      Editor changed = original;
      mutation.plant(changed, i);
      mutants.push_back({kernel_name + " " + mutation.kind + " #" + std::to_string(++site), mutation.kind, changed.module()});
    }
  }
  return mutants;
}

}  // namespace mlaindex::mutation
