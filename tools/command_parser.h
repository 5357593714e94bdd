// From the words of the command line to the command they name. The grammar is in the .cpp file.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "generator/base/result.h"
#include "tools/commands.h"
#include "tools/options.h"

namespace mlaindex::tools {

// Exactly one of text, error and body is set.
struct ParsedCommand {
  std::string name;             // "score", "cache list"; as far as it was understood
  CommonOptions common;
  std::string text;             // of --help or --version
  std::optional<Error> error;   // the words name no command, or one of its options is wrong
  std::function<Result<ExitCode>(Session&)> body;
};

ParsedCommand parse_command(int argc, const char* const* argv);

}  // namespace mlaindex::tools
