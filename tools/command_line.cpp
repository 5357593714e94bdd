#include "tools/command_line.h"

#include <cstdio>
#include <exception>
#include <new>

#include "tools/command_parser.h"

namespace mlaindex::tools {
namespace {

Result<ExitCode> run(const ParsedCommand& command, Output& output) try {
  if (command.error) return *command.error;
  Result<Config> config = config_of(command.common);
  if (!config) return std::move(config).error();
  Session session(*std::move(config), output);
  return command.body(session);
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory, "out of memory", {}};
} catch (const std::exception& error) {
  return Error{ErrorCode::internal, error.what(), "this is a bug of mlaindex"};
}

}  // namespace

int run_command_line(int argc, const char* const* argv) noexcept try {
  const ParsedCommand command = parse_command(argc, argv);
  if (!command.text.empty()) {
    std::fputs(command.text.c_str(), stdout);
    return static_cast<int>(ExitCode::done);
  }
  Output output(command.name, command.common.json);
  const Result<ExitCode> result = run(command, output);
  if (result) return output.finish(*result);
  output.fail(result.error());
  return output.finish(exit_code_of(result.error().code));
} catch (const std::exception& error) {  // while reporting
  std::fprintf(stderr, "mlaindex: error: %s\n", error.what());
  return static_cast<int>(ExitCode::environment);
}

}  // namespace mlaindex::tools
