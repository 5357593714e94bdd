// The mutants that the short form of the suite does not find, and why.
#pragma once

#include <string_view>
#include <vector>

namespace mlaindex::mutation {

enum class SurvivorKind {
  equivalent,  // the changed kernel is still right by PTX's rules
  rare,        // it is wrong, and only a schedule of the full form shows it
  blind_spot,  // it is wrong, and nothing shows it
};

struct Survivor {
  std::string_view mutant;
  SurvivorKind kind;
  std::string_view reason;
};

const std::vector<Survivor>& survivors();

}  // namespace mlaindex::mutation
