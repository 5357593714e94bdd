#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "tools/commands.h"
#include "tools/kernel_report.h"
#include "tools/score_case.h"

namespace mlaindex::tools {
namespace {

struct ParsedOptions {
  ScoreType score_type;
  Fill fill;
  std::optional<Arch> arch;
};

constexpr int max_repeats = 100'000;

Result<ParsedOptions> parse(const ScoreOptions& options) {
  if (Status layout = check_layout(options.layout); !layout) return layout.error();
  const Result<ScoreType> score_type = parse_score_type(options.score_type);
  if (!score_type) return score_type.error();
  const Result<Fill> fill = parse_fill(options.fill);
  if (!fill) return fill.error();
  ParsedOptions parsed{*score_type, *fill, {}};
  if (!options.arch.empty()) {
    const Result<Arch> arch = parse_arch(options.arch);
    if (!arch) return arch.error();
    parsed.arch = *arch;
  }
  if (options.settings.repeats < 1 || options.settings.repeats > max_repeats) {
    return Error{ErrorCode::invalid_argument, fmt::format("--repeat {}", options.settings.repeats),
                 fmt::format("allowed: 1 to {}", max_repeats)};
  }
  return parsed;
}

// Where the scores of an input go: the file given, or for several inputs the folder given.
Result<std::filesystem::path> output_path(const ScoreOptions& options, const std::filesystem::path& input) {
  std::filesystem::path path = options.output;
  std::error_code failure;
  if (options.inputs.size() > 1) {
    std::filesystem::create_directories(path, failure);
    if (!std::filesystem::is_directory(path, failure)) {
      return Error{ErrorCode::invalid_argument, fmt::format("-o {}: not a folder", options.output),
                   "several inputs need a folder for their outputs"};
    }
    path /= input.filename();
  }
  if (std::filesystem::equivalent(path, input, failure)) {
    return Error{ErrorCode::invalid_argument, fmt::format("-o {} is the input", path.string()), "name another file"};
  }
  return path;
}

// Where no kernel ran, one is still made when it is known for which arch: the same request on a
// machine with a GPU then finds it in the cache. Nothing depends on it here, so trouble is a warning.
std::optional<KernelLookup> make_kernel_ahead(Session& session, const Case& input, const ScoreOptions& options,
                                              const ParsedOptions& parsed) {
  const bool wanted = parsed.arch || options.device == "auto";
  if (!wanted || input.problem.num_tokens == 0 || input.problem.num_keys == 0) return {};
  Result<KernelLookup> lookup =
      session.kernels().get(spec_for(input.problem, parsed.arch.value_or(Arch::sm_90a)), options.settings.plan);
  if (lookup) return *std::move(lookup);
  session.log().warn("no kernel was made: " + lookup.error().text());
  return {};
}

void print_kernel_used(Output& output, const KernelLookup& lookup, bool ran) {
  const CompiledKernel& kernel = *lookup.kernel;
  std::string generated = fmt::format("{}, plan {} for {}", kernel.kernel_name, kernel.plan.name, arch_name(kernel.spec.arch));
  if (!kernel.source.empty()) {
    generated += fmt::format(", {} lines of CUDA", std::count(kernel.source.begin(), kernel.source.end(), '\n'));
  }
  if (!ran) generated += " (not run)";
  output.row("kernel", generated);
  output.row("cubin", fmt::format("{}, {} bytes, {} registers, {} bytes of spills", origin_text(lookup.origin),
                                  kernel.cubin.size(), kernel.facts.registers, kernel.facts.frame_bytes));
  output.row("steps", steps_text(lookup));
}

Status write_scores(const std::filesystem::path& path, const ScoreProblem& problem, AlignedBytes scores) {
  Safetensors file;
  file.tensors["scores"] = Tensor{problem.score_type == ScoreType::bf16 ? "BF16" : "F32",
                                  {static_cast<std::uint64_t>(problem.num_tokens), static_cast<std::uint64_t>(problem.num_columns)},
                                  std::move(scores)};
  return write_safetensors(path, file);
}

// Scores one file, prints it, and adds it to `cases`; whether it passed.
Result<bool> score_file(Session& session, Device& device, const std::string& path, const ScoreOptions& options,
                        const ParsedOptions& parsed, Json& cases) {
  Output& output = session.output();
  const Result<Case> input = read_case(path, parsed.score_type, parsed.fill);
  if (!input) return input.error();
  for (const std::string& tensor : input->ignored) {
    session.log().warn(fmt::format("{}: tensor '{}' is not one of a case and is ignored", path, tensor));
  }
  output.row("case", fmt::format("{}: {}", path, describe(input->problem)));
  output.row("output", fmt::format("{}, fill {}", options.score_type, options.fill));

  std::optional<std::filesystem::path> target;
  if (!options.output.empty()) {
    Result<std::filesystem::path> path_given = output_path(options, path);
    if (!path_given) return std::move(path_given).error();
    target = *std::move(path_given);
  }

  Result<ScoredCase> scored = score_case(device, *input, options.settings);
  if (!scored) return Error{scored.error().code, fmt::format("{}: {}", path, scored.error().message), scored.error().hint};
  std::optional<KernelLookup> kernel = scored->run.kernel;
  if (!kernel) kernel = make_kernel_ahead(session, *input, options, parsed);
  if (kernel) print_kernel_used(output, *kernel, scored->run.kernel.has_value());
  print_scored_case(output, *input, *scored);

  Json json{{"input", path}, {"problem", describe(input->problem)}};
  json.update(scored_case_json(*scored));
  if (kernel) {
    json["kernel"] = kernel_json(*kernel);
    json["kernel"]["ran"] = scored->run.kernel.has_value();
  }
  const bool passed = scored->passed();
  if (target) {
    if (Status written = write_scores(*target, input->problem, std::move(scored->scores)); !written) return written.error();
    output.row("written", target->string());
    json["output"] = target->string();
  }
  cases.push_back(std::move(json));
  return passed;
}

}  // namespace

Result<ExitCode> run_score(Session& session, const ScoreOptions& options) {
  const Result<ParsedOptions> parsed = parse(options);
  if (!parsed) return parsed.error();
  const DeviceRequest request{.name = options.device, .arch = parsed->arch, .emulator = {}};
  const Result<OpenedDevice> opened = open_device(request, session.kernels(), session.config());
  if (!opened) return opened.error();

  Output& output = session.output();
  output.row("device", opened->device->name() + (opened->note.empty() ? "" : "\n" + opened->note));
  output.set("device", opened->device->name());
  output.set("note", opened->note);
  Json cases = Json::array();
  std::size_t failed = 0;
  for (const std::string& path : options.inputs) {
    output.line();
    const Result<bool> passed = score_file(session, *opened->device, path, options, *parsed, cases);
    if (!passed) {
      output.set("cases", std::move(cases));
      return passed.error();
    }
    if (!*passed) ++failed;
  }
  if (options.inputs.size() > 1) {
    output.line(fmt::format("\n{} of {} cases {}", options.inputs.size() - failed, options.inputs.size(),
                            options.settings.check ? "passed" : "scored"));
  }
  output.set("cases", std::move(cases));
  output.set("passed", failed == 0);
  return failed == 0 ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace mlaindex::tools
