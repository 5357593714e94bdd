#include <unistd.h>

#include <fmt/format.h>

#include "tools/commands.h"
#include "tools/kernel_report.h"
#include "tools/output_file.h"

namespace mlaindex::tools {
namespace {

Status check_options(const CompileOptions& options, bool json) {
  if (options.emit != "report" && options.emit != "ptx" && options.emit != "cubin") {
    return Error{ErrorCode::invalid_argument, fmt::format("unknown --emit '{}'", options.emit),
                 "allowed: ptx, cubin, report"};
  }
  if (options.emit == "report" && !options.output.empty()) {
    return Error{ErrorCode::invalid_argument, "-o goes with --emit ptx or --emit cubin",
                 "the report goes to stdout"};
  }
  if (options.emit == "cubin" && options.output.empty() && (json || ::isatty(STDOUT_FILENO) == 1)) {
    return Error{ErrorCode::invalid_argument, "a cubin is binary and does not go to a terminal or into JSON",
                 "name a file with -o, or redirect stdout"};
  }
  return {};
}

}  // namespace

Result<ExitCode> run_compile(Session& session, const CompileOptions& options) {
  Output& output = session.output();
  if (Status valid = check_options(options, output.json()); !valid) return valid.error();
  const Result<Spec> spec = spec_of(options.spec);
  if (!spec) return spec.error();
  const Result<KernelLookup> lookup = session.kernels().get(*spec, options.spec.plan);
  if (!lookup) return lookup.error();

  const CompiledKernel& kernel = *lookup->kernel;
  output.set("kernel", kernel_json(*lookup));
  if (options.emit == "report") {
    print_kernel(output, *lookup);
    output.row("key", kernel.key);
    return ExitCode::done;
  }
  const std::string& image = options.emit == "ptx" ? kernel.ptx : kernel.cubin;
  if (options.output.empty()) {
    output.bytes(image);
    if (options.emit == "ptx") output.set("ptx", image);
    return ExitCode::done;
  }
  if (Status written = write_file(options.output, image); !written) return written.error();
  output.row("written", fmt::format("{}, {} bytes", options.output, image.size()));
  output.set("output", options.output);
  return ExitCode::done;
}

}  // namespace mlaindex::tools
