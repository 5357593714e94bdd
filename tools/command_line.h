// The process: from argv to an exit code.
#pragma once

namespace mlaindex::tools {

// Parses, runs the command, prints, and returns the exit code. Nothing escapes as an exception.
int run_command_line(int argc, const char* const* argv) noexcept;

}  // namespace mlaindex::tools
