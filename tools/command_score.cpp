#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include "generator/base/format.h"
#include "runtime/emulator_device.h"
#include "tools/commands.h"
#include "tools/kernel_report.h"
#include "tools/output_file.h"
#include "tools/score_case.h"

namespace mlaindex::tools {
namespace {

struct ParsedOptions {
  ScoreType score_type;
  Fill fill;
  FoldType fold;
  std::optional<Arch> arch;
};

constexpr int max_repeats = 100'000;

Result<ParsedOptions> parse(const ScoreOptions& options) {
  const Result<ScoreType> score_type = parse_score_type(options.score_type);
  if (!score_type) return score_type.error();
  const Result<Fill> fill = parse_fill(options.fill);
  if (!fill) return fill.error();
  const Result<FoldType> fold = parse_fold(options.fold);
  if (!fold) return fold.error();
  ParsedOptions parsed{*score_type, *fill, *fold, {}};
  if (!options.arch.empty()) {
    const Result<Arch> arch = parse_arch(options.arch);
    if (!arch) return arch.error();
    parsed.arch = *arch;
  }
  if (options.settings.repeats < 1 || options.settings.repeats > max_repeats) {
    return Error{ErrorCode::invalid_argument, fmt::format("--repeat {}", options.settings.repeats),
                 fmt::format("allowed: 1 to {}", max_repeats)};
  }
  if (!options.trace.empty() && (options.inputs.size() > 1 || options.settings.repeats > 1)) {
    return Error{ErrorCode::invalid_argument, "--trace takes the timeline of one run",
                 "give one input and no --repeat"};
  }
  return parsed;
}

// Where the scores of each input go: the file given, or for several inputs the folder given; empty
// paths when nothing is written.
Result<std::vector<std::filesystem::path>> output_paths(const ScoreOptions& options) {
  std::vector<std::filesystem::path> paths(options.inputs.size(), options.output);
  if (options.output.empty()) return paths;
  std::error_code failure;
  if (options.inputs.size() > 1) {
    std::filesystem::create_directories(options.output, failure);
    if (!std::filesystem::is_directory(options.output, failure)) {
      return Error{ErrorCode::invalid_argument, fmt::format("-o {}: not a folder", options.output),
                   "several inputs need a folder for their outputs"};
    }
    for (std::size_t i = 0; i < paths.size(); ++i) paths[i] /= std::filesystem::path(options.inputs[i]).filename();
  }
  std::set<std::filesystem::path> taken;
  for (const std::filesystem::path& path : paths) {
    const auto is_path = [&](const std::string& input) { return std::filesystem::equivalent(path, input, failure); };
    if (std::any_of(options.inputs.begin(), options.inputs.end(), is_path)) {
      return Error{ErrorCode::invalid_argument, fmt::format("-o {} is an input", path.string()), "name another file"};
    }
    if (!taken.insert(path).second) {
      return Error{ErrorCode::invalid_argument, fmt::format("two inputs would both go to {}", path.string()),
                   "score inputs of the same name one at a time"};
    }
  }
  return paths;
}

// Where no kernel ran, one is still made when it is known for which arch: the same request on a
// machine with a GPU then finds it in the cache. Nothing here depends on it, so that trouble with the
// machine is a warning.
Result<std::optional<KernelLookup>> make_kernel_ahead(Session& session, const Case& input, const ScoreOptions& options,
                                                      const ParsedOptions& parsed) {
  const bool wanted = parsed.arch || options.device == "auto";
  if (!wanted || input.problem.num_tokens == 0 || input.problem.num_keys == 0) return std::optional<KernelLookup>{};
  Result<KernelLookup> lookup =
      session.kernels().get(spec_for(input.problem, parsed.arch.value_or(Arch::sm_90a)), options.settings.plan, size_of(input.problem));
  if (lookup) return std::optional(*std::move(lookup));
  if (exit_code_of(lookup.error().code) == ExitCode::wrong_usage) return std::move(lookup).error();
  session.log().warn("no kernel was made: " + lookup.error().text());
  return std::optional<KernelLookup>{};
}

void print_kernel_used(Output& output, const KernelLookup& lookup, bool ran) {
  const CompiledKernel& kernel = *lookup.kernel;
  std::string generated =
      fmt::format("{}, plan {} for {}", kernel.kernel_name, kernel.plan.name, arch_name(kernel.spec.arch));
  if (!kernel.source.empty()) {
    generated += fmt::format(", {} lines of CUDA", std::count(kernel.source.begin(), kernel.source.end(), '\n'));
  }
  if (!ran) generated += " (not run)";
  output.row("kernel", generated);
  output.row("cubin", fmt::format("{}, {} bytes, {} registers, {} bytes of spills", origin_text(lookup),
                                  kernel.cubin.size(), kernel.facts.registers, kernel.facts.frame_bytes));
  output.row("steps", steps_text(lookup));
}

Status write_scores(const std::filesystem::path& path, const ScoreProblem& problem, AlignedBytes scores) {
  Safetensors file;
  const auto tokens = static_cast<std::uint64_t>(problem.num_tokens);
  const auto columns = static_cast<std::uint64_t>(problem.num_columns);
  const char* dtype = problem.score_type == ScoreType::bf16 ? "BF16" : "F32";
  file.tensors["scores"] = Tensor{dtype, {tokens, columns}, std::move(scores)};
  return write_safetensors(path, file);
}

// `timeline` receives that of the run, if one was asked for.
Result<OpenedDevice> open(Session& session, const ScoreOptions& options, const ParsedOptions& parsed,
                          std::string& timeline) {
  EmulatorSettings settings{.seed = options.schedule};
  if (!options.trace.empty()) settings.on_timeline = [&timeline](const std::string& text) { timeline = text; };
  const DeviceRequest request{.name = options.device,
                              .arch = parsed.arch,
                              .emulator = emulator_factory(std::move(settings))};
  Result<OpenedDevice> opened = open_device(request, session.kernels(), session.config());
  if (!opened) return opened;
  const std::string name = opened->device->name();
  if (!options.trace.empty() && !opened->device->has_timeline()) {
    return Error{ErrorCode::invalid_argument, fmt::format("--trace: {} keeps no timeline", name),
                 "allowed: --device emulator"};
  }
  session.output().row("device", name + (opened->note.empty() ? "" : "\n" + opened->note));
  session.output().set("device", name);
  session.output().set("note", opened->note);
  return opened;
}

// Also of a run that ended with a fault: then a timeline is wanted most.
Status write_timeline(Session& session, const std::string& path, const std::string& timeline) {
  if (path.empty() || timeline.empty()) return {};
  if (Status written = write_file(path, timeline); !written) return written;
  session.output().row("timeline", path);
  session.output().set("trace", path);
  return {};
}

// Scores one case, prints it, and adds it to `cases`; whether it passed. `target` may be empty.
Result<bool> score_and_print(Session& session, Device& device, const Case& input, const std::string& path,
                             const std::filesystem::path& target, const ScoreOptions& options,
                             const ParsedOptions& parsed, Json& cases) {
  Output& output = session.output();
  output.line();
  output.row("case", fmt::format("{}: {}", path, describe(input.problem)));
  output.row("output", fmt::format("{}, fill {}{}", options.score_type, options.fill,
                                   parsed.fold == FoldType::f32 ? "" : fmt::format(", fold {}", options.fold)));
  for (const std::string& tensor : input.ignored) {
    session.log().warn(fmt::format("{}: tensor '{}' is not one of a case and is ignored", path, tensor));
  }
  Result<ScoredCase> scored = score_case(device, input, options.settings);
  if (!scored)
    return Error{scored.error().code, fmt::format("{}: {}", path, scored.error().message), scored.error().hint};
  std::optional<KernelLookup> kernel = scored->run.kernel;
  if (!kernel) {
    Result<std::optional<KernelLookup>> ahead = make_kernel_ahead(session, input, options, parsed);
    if (!ahead) return std::move(ahead).error();
    kernel = *std::move(ahead);
  }
  if (kernel) print_kernel_used(output, *kernel, scored->run.kernel.has_value());
  print_scored_case(output, input, *scored);

  Json json{{"input", path}, {"problem", describe(input.problem)}, {"fold", options.fold}};
  json.update(scored_case_json(*scored));
  if (kernel) {
    json["kernel"] = kernel_json(*kernel);
    json["kernel"]["ran"] = scored->run.kernel.has_value();
  }
  const bool passed = scored->passed();
  if (!target.empty()) {
    if (Status written = write_scores(target, input.problem, std::move(scored->scores)); !written)
      return written.error();
    output.row("written", target.string());
    json["output"] = target.string();
  }
  cases.push_back(std::move(json));
  return passed;
}

// Scores every input in turn; how many failed their check. The device is opened when the first input
// turned out to be a case.
Result<std::size_t> score_all(Session& session, const ScoreOptions& options, const ParsedOptions& parsed,
                              const std::vector<std::filesystem::path>& targets, Json& cases) {
  std::string timeline;
  std::optional<OpenedDevice> opened;
  std::size_t failed = 0;
  for (std::size_t i = 0; i < options.inputs.size(); ++i) {
    const std::string& path = options.inputs[i];
    const Result<Case> input = read_case(path, parsed.score_type, parsed.fill, parsed.fold);
    if (!input) return input.error();
    if (!opened) {
      Result<OpenedDevice> device = open(session, options, parsed, timeline);
      if (!device) return std::move(device).error();
      opened = *std::move(device);
    }
    const Result<bool> passed =
        score_and_print(session, *opened->device, *input, path, targets[i], options, parsed, cases);
    const Status traced = write_timeline(session, options.trace, timeline);
    if (!passed) return passed.error();
    if (!traced) return traced.error();
    if (!*passed) ++failed;
  }
  return failed;
}

}  // namespace

Result<ExitCode> run_score(Session& session, const ScoreOptions& options) {
  const Result<ParsedOptions> parsed = parse(options);
  if (!parsed) return parsed.error();
  const Result<std::vector<std::filesystem::path>> targets = output_paths(options);
  if (!targets) return targets.error();

  Json cases = Json::array();
  const Result<std::size_t> failed = score_all(session, options, *parsed, *targets, cases);
  Output& output = session.output();
  output.set("cases", std::move(cases));
  output.set("counters", counters_json(session.kernels().counters()));
  if (!failed) return failed.error();
  output.set("passed", *failed == 0);
  if (options.inputs.size() > 1) {
    output.line(fmt::format("\n{} of {} cases {}", options.inputs.size() - *failed, options.inputs.size(),
                            options.settings.check ? "passed" : "scored"));
  }
  return *failed == 0 ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace mlaindex::tools
