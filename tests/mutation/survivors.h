// The mutants that nothing finds, and why.
#pragma once

#include <string_view>
#include <vector>

namespace mlaindex::mutation {

enum class SurvivorKind {
  equivalent,  // the changed kernel is still right by PTX's rules
  blind_spot,  // it is wrong, and neither examiner can see it
};

struct Survivor {
  std::string_view mutant;
  SurvivorKind kind;
  std::string_view reason;
};

const std::vector<Survivor>& survivors();

}  // namespace mlaindex::mutation
