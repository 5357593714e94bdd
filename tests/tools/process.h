// Another program, run to its end.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace mlaindex::tools {

struct Finished {
  int exit_code = 0;  // 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

// `environment` is added to the test's own; an empty value removes the variable.
Finished run_process(const std::vector<std::string>& words, const std::map<std::string, std::string>& environment);

}  // namespace mlaindex::tools
