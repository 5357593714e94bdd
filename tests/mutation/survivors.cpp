#include "tests/mutation/survivors.h"

namespace mlaindex::mutation {

const std::vector<Survivor>& survivors() {
  static const std::vector<Survivor> table{
  };
  return table;
}

}  // namespace mlaindex::mutation
