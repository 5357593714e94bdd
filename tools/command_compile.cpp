#include <unistd.h>

#include <memory>

#include "generator/base/format.h"
#include "generator/ptx/pipeline.h"
#include "runtime/find_assembler.h"
#include "runtime/kernel_passes.h"
#include "tools/commands.h"
#include "tools/kernel_report.h"
#include "tools/output_file.h"
#include "tools/rewrite_options.h"

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
  const Result<ptx::RewriteOptions> rewrite = parse_rewrite(options.rewrite);
  if (!rewrite) return rewrite.error();
  const Result<Spec> spec = spec_of(options.spec);
  if (!spec) return spec.error();
  Result<KernelLookup> lookup = session.kernels().get(*spec, options.spec.plan, size_of(options.spec));
  if (!lookup) return lookup.error();

  const bool report = options.emit == "report", rewrites = !options.rewrite.empty();
  std::vector<ptx::PassReport> reports;
  if (report || rewrites) {
    auto examined = std::make_shared<CompiledKernel>(*lookup->kernel);
    const ptx::Pipeline pipeline =
        rewrites ? ptx::rewriting_pipeline(*rewrite, find_assembler(session.config())) : ptx::default_pipeline();
    auto passed = run_passes(pipeline, *examined, /*describe=*/true);
    if (!passed) return passed.error();
    reports = *std::move(passed);
    lookup->kernel = std::move(examined);
  }
  const CompiledKernel& kernel = *lookup->kernel;
  output.set("kernel", kernel_json(*lookup));
  output.set("counters", counters_json(session.kernels().counters()));
  if (rewrites) output.set("rewrite", rewrite->text());
  if (report) {
    print_kernel(output, *lookup);
    output.row("key", kernel.key);
    if (rewrites) output.row("rewrite", rewrite->text() + "; not kept in the cache");
    print_passes(output, reports);
    output.set("passes", passes_json(reports));
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
