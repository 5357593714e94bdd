// Runs one program to its end, without a shell.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "generator/base/result.h"

namespace mlaindex::ptx {

// argv[0] is the path of the program. Its output and errors go to the file `log`, its input is
// empty. Returns the exit status, 0 to 255.
// Errors: internal when it cannot be started, is killed by a signal, or does not end within
// `timeout` (it is then killed, with the processes it started).
Result<int> run_process(const std::vector<std::string>& argv, const std::string& log,
                        std::chrono::milliseconds timeout);

}  // namespace mlaindex::ptx
