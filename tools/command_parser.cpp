#include "tools/command_parser.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "generator/source.h"
#include "tools/rewrite_options.h"

namespace mlaindex::tools {
namespace {

constexpr const char* description =
    "Scores query tokens against FP8 keys, as the lightning indexer of sparse attention does:\n"
    "generates a CUDA kernel for the problem at hand, compiles it with NVRTC, keeps it in a cache,\n"
    "and runs it.";

constexpr const char* fold_text = "Of the sum over heads: f32 (default) or bf16, which rounds on the way";

constexpr const char* exit_codes =
    "Exit codes: 0 done; 1 a check failed; 2 wrong usage or a bad input file; 3 the machine lacks\n"
    "something, which 'mlaindex doctor' explains.";

void add_common_options(CLI::App& command, CommonOptions& options) {
  const auto common = [](CLI::Option* option) { option->group("Common options"); };
  common(command.add_flag("--json", options.json, "One JSON object on stdout instead of text"));
  common(command.add_option("--cache-dir", options.cache_dir,
                            "Folder of compiled kernels (default: MLAINDEX_JIT_CACHE_DIR, else XDG cache)")
             ->type_name("DIR"));
  common(command.add_option("--dump-dir", options.dump_dir,
                            "Folder that gets source, PTX, cubin and report of each kernel (default: "
                            "MLAINDEX_JIT_DUMP_DIR)")
             ->type_name("DIR"));
  common(command.add_option("--override-dir", options.override_dir,
                            "Folder of PTX and cubins that replace those of a kernel, named as in the dump "
                            "(default: MLAINDEX_JIT_OVERRIDE_DIR)")
             ->type_name("DIR"));
  common(command.add_option("--log-level", options.log_level,
                            "trace, debug, info, warn, error or off (default: MLAINDEX_JIT_LOG, else warn)")
             ->type_name("LEVEL"));
}

void add_spec_options(CLI::App& command, SpecOptions& options) {
  command.add_option("--arch", options.arch, "sm_90a (H100, H200) or sm_100a (B200)")->required()->type_name("ARCH");
  command.add_option("--heads", options.num_heads, "Indexer heads, 1 to 128 (default 64)")->type_name("N");
  command.add_option("--depth", options.depth, "Elements per head: 32, 64 or 128 (default 128)")->type_name("N");
  command.add_option("--op", options.op, "score")->type_name("OP");
  command.add_option("--layout", options.layout, "Of the keys: contiguous (default) or paged")->type_name("LAYOUT");
  command.add_option("--page-size", options.page_size, "Keys a page: 16, 32, 64 (default), 128 or 256")->type_name("N");
  command
      .add_option("--mask", options.mask,
                  "full, ranges, ragged or ragged_causal (default); of paged keys context (default), context_rows, "
                  "ragged or ragged_causal")
      ->type_name("MASK");
  command.add_option("--score-type", options.score_type, "f32 (default) or bf16")->type_name("TYPE");
  command.add_option("--fill", options.fill, "Slots outside the visible keys: none (left alone, default) or -inf")
      ->type_name("FILL");
  command.add_option("--fold", options.fold, fold_text)->type_name("TYPE");
  command.add_option("--plan", options.plan, "A plan by name instead of the default one")->type_name("NAME");
  command.add_option("--tokens", options.num_tokens, "Size of the problem at hand, for choosing a plan")
      ->type_name("N");
  command.add_option("--keys", options.num_keys, "Size of the problem at hand, for choosing a plan")->type_name("N");
  command.add_option("--requests", options.num_requests, "The same, of paged keys: requests that share the tokens")
      ->type_name("N");
}

// Builds the grammar and keeps what the words chose.
class Grammar {
 public:
  Grammar();

  ParsedCommand parse(int argc, const char* const* argv);

 private:
  // A command below `parent`; options are read into `*options`, which its run function then gets.
  template <class Options>
  CLI::App& add(CLI::App& parent, const std::string& name, const std::string& text,
                Result<ExitCode> (*run)(Session&, const Options&), std::shared_ptr<Options> options) {
    return add(parent, name, text, [run, options](Session& session) { return run(session, *options); });
  }
  CLI::App& add(CLI::App& parent, const std::string& name, const std::string& text,
                std::function<Result<ExitCode>(Session&)> body);

  void add_kernel_commands();
  void add_score();
  void add_make_case();
  void add_prewarm();
  void add_bench();
  void add_tune();
  void add_cache();
  std::string words_understood() const;

  CLI::App root_{description, "mlaindex"};
  ParsedCommand parsed_;
};

Grammar::Grammar() {
  root_.footer(exit_codes);
  root_.require_subcommand(1);
  root_.set_version_flag("--version", "mlaindex " + std::string(generator_version()));
  add_common_options(root_, parsed_.common);
  add_score();
  add_make_case();
  add_kernel_commands();
  add_prewarm();
  add_bench();
  add_tune();
  add_cache();
  add(root_, "doctor", "What works on this machine, what does not, and what to do", run_doctor);
}

CLI::App& Grammar::add(CLI::App& parent, const std::string& name, const std::string& text,
                       std::function<Result<ExitCode>(Session&)> body) {
  CLI::App& command = *parent.add_subcommand(name, text);
  add_common_options(command, parsed_.common);
  command.callback([this, body = std::move(body)] { parsed_.body = body; });
  return command;
}

void Grammar::add_kernel_commands() {
  const auto emit = std::make_shared<SpecOptions>();
  add_spec_options(add(root_, "emit", "Print the CUDA source of a kernel", run_emit, emit), *emit);

  const auto explain = std::make_shared<ExplainOptions>();
  CLI::App& explain_command =
      add(root_, "explain", "Print the plan of a kernel: tile, roles, memory, why", run_explain, explain);
  add_spec_options(explain_command, explain->spec);
  explain_command.add_flag("--model", explain->model,
                           "Compile it, and predict its time and what limits it from its machine code (needs nvdisasm)");
  explain_command.add_option("--gpu", explain->gpu, "Of --model: h200 or b200 (default: that of the arch)")->type_name("GPU");

  const auto compile = std::make_shared<CompileOptions>();
  CLI::App& command = add(root_, "compile", "Compile a kernel, or find it in the cache", run_compile, compile);
  add_spec_options(command, compile->spec);
  command.add_option("--emit", compile->emit, "ptx, cubin or report (default)")->type_name("WHAT");
  command
      .add_option("--rewrite", compile->rewrite,
                  std::string("Change the PTX and assemble it anew; may be given several times: ") + rewrite_items)
      ->type_name("ITEM")
      ->take_all();
  command.add_option("-o,--output", compile->output, "File for the PTX or the cubin (default: stdout)")
      ->type_name("FILE");
}

void Grammar::add_score() {
  const auto options = std::make_shared<ScoreOptions>();
  CLI::App& command = add(root_, "score", "Score the case in a safetensors file", run_score, options);
  command.add_option("input", options->inputs, "Case files: q, q_scale, and k, k_scale or pages; see make-case")
      ->required()
      ->type_name("IN");
  command.add_option("-o,--output", options->output, "File for the scores; with several inputs, a folder")
      ->type_name("OUT");
  command.add_option("--device", options->device, "auto (default), cuda:N, emulator or cpu")->type_name("DEVICE");
  command.add_option("--schedule", options->schedule, "Of the emulator: seed of the order in which work completes")
      ->type_name("SEED");
  command.add_option("--trace", options->trace, "Of the emulator: file for a timeline in Chrome's trace format (Perfetto)")
      ->type_name("FILE");
  command.add_option("--arch", options->arch, "sm_90a or sm_100a (default: that of the device)")->type_name("ARCH");
  command.add_flag("--check", options->settings.check,
                   "Compare with the f64 reference, and with the file's own scores");
  command.add_option("--score-type", options->score_type, "f32 (default) or bf16")->type_name("TYPE");
  command.add_option("--fill", options->fill, "Slots outside the visible keys: none (default) or -inf")
      ->type_name("FILL");
  command.add_option("--fold", options->fold, fold_text)->type_name("TYPE");
  command.add_option("--plan", options->settings.plan, "A plan by name instead of the default one")->type_name("NAME");
  command
      .add_option("--repeat", options->settings.repeats, "Runs of each case, which must agree bit for bit (default 1)")
      ->type_name("N");
}

void Grammar::add_make_case() {
  const auto options = std::make_shared<MakeCaseOptions>();
  CLI::App& command = add(root_, "make-case", "Write an example input", run_make_case, options);
  CaseRequest& request = options->request;
  command.add_option("output", options->output, "The safetensors file to write")->required()->type_name("OUT");
  command.add_option("--tokens", options->num_tokens, "Query tokens (default 512; paged decode: requests * next-n)")
      ->type_name("N");
  command.add_option("--keys", request.num_keys, "Keys (default 4096); paged: of the longest request")->type_name("N");
  command.add_option("--heads", request.num_heads, "Indexer heads, 1 to 128 (default 32)")->type_name("N");
  command.add_option("--depth", request.depth, "Elements per head: 32, 64 or 128 (default 128)")->type_name("N");
  command
      .add_option("--mask", options->mask,
                  "full, ranges, ragged or ragged_causal (default); with --paged context (default), context_rows, "
                  "ragged or ragged_causal")
      ->type_name("MASK");
  command
      .add_option("--requests", options->num_requests, "Requests that share the batch (default 4); not of full and ranges")
      ->type_name("N");
  command.add_option("--paged", request.page_size, "Keys in pages of so many: 16, 32, 64, 128 or 256")->type_name("N");
  command.add_option("--next-n", request.next_n, "Tokens a request, of the context masks (default 1)")->type_name("N");
  command.add_flag("--separate-scales", request.separate_scales,
                   "With --paged: k_scale in a pool of its own, with its own table");
  command.add_option("--seed", request.seed, "The same seed gives the same file (default 1)")->type_name("N");
  command.add_flag("--exact", request.exact, "Small integers, so that right answers are bitwise equal");
  command.add_flag("--exact-bf16", request.exact_bf16, "Smaller ones, so that they are with a bf16 fold as well");
  command.add_flag("--with-scores", options->with_scores, "Add the reference's scores");
}

void Grammar::add_prewarm() {
  const auto options = std::make_shared<PrewarmOptions>();
  CLI::App& command =
      add(root_, "prewarm", "Compile the kernels of a model into the cache; needs no GPU", run_prewarm, options);
  command.add_option("--arch", options->archs, "sm_90a, sm_100a (default: both)")
      ->delimiter(',')
      ->type_name("ARCH,...");
  command.add_option("--preset", options->presets, "deepseek-v3.2, deepseek-v4, glm-5")
      ->delimiter(',')
      ->type_name("NAME,...");
  command.add_option("--heads", options->num_heads, "Indexer heads, each 1 to 128")->delimiter(',')->type_name("N,...");
  command.add_option("--depth", options->depths, "Elements per head, with --heads: 32, 64, 128 (default 128)")
      ->delimiter(',')->type_name("N,...");
  command.add_option("--page-size", options->page_sizes, "Keys a page, of paged keys: 16, 32, 64 (default), 128, 256")
      ->delimiter(',')->type_name("N,...");
  command.add_option("--fold", options->fold, fold_text)->type_name("TYPE");
  command.add_option("--jobs", options->jobs, "Kernels compiled at once (default: one per core)")->type_name("N");
}

void Grammar::add_bench() {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App& command = add(root_, "bench", "Check the kernels of a model on a GPU, then time them", run_bench, options);
  command.add_option("--preset", options->presets, "deepseek-v3.2 (default), deepseek-v4, glm-5")
      ->delimiter(',')
      ->type_name("NAME,...");
  command.add_option("--heads", options->num_heads, "Indexer heads, each 1 to 128")->delimiter(',')->type_name("N,...");
  command.add_option("--depth", options->depth, "Elements per head, with --heads: 32, 64 or 128 (default 128)")
      ->type_name("N");
  command
      .add_option("--prefill", options->prefill,
                  "Contiguous keys, ragged and causal: tokens x keys, as in 2048x65536 (with neither this nor --decode: "
                  "a list of each)")
      ->delimiter(',')
      ->type_name("TxK,...");
  command
      .add_option("--decode", options->decode, "Paged keys: requests x next_n x context, as in 64x1x65536")
      ->delimiter(',')
      ->type_name("BxNxC,...");
  command.add_option("--page-size", options->page_size, "Keys a page: 16, 32, 64 (default), 128 or 256")->type_name("N");
  command.add_option("--score-type", options->score_type, "f32 (default) or bf16")->type_name("TYPE");
  command.add_option("--fill", options->fill, "Slots outside the visible keys: none (default) or -inf")
      ->type_name("FILL");
  command.add_option("--fold", options->fold, fold_text)->type_name("TYPE");
  command.add_option("--device", options->device, "auto (default: cuda:0) or cuda:N")->type_name("DEVICE");
  command.add_option("--samples", options->samples, "Of each timing (default 30)")->type_name("N");
  command.add_option("--seed", options->seed, "Of the data (default 1)")->type_name("N");
  command.add_option("--plot", options->plot, "File for a plot of time against context")->type_name("FILE.svg");
}

void Grammar::add_tune() {
  const auto options = std::make_shared<TuneOptions>();
  CLI::App& command = add(root_, "tune", "Time every plan on a GPU and write the table that routes are chosen by", run_tune, options);
  CLI::Option* const check = command.add_flag(
      "--check", options->check,
      "Judge the table in effect instead, on other sizes: exit code 1 when a choice is over 5 % behind the best");
  command.add_option("--heads", options->num_heads, "Indexer heads, each 1 to 128 (default 4, 8, 16, 32, 64, 128)")
      ->delimiter(',')
      ->type_name("N,...");
  command.add_option("--depth", options->depths, "Elements per head: 32, 64, 128 (default 128)")
      ->delimiter(',')
      ->type_name("N,...");
  command.add_option("--page-size", options->page_size, "Keys a page: 16, 32, 64 (default), 128 or 256")->type_name("N");
  CLI::Option* const device =
      command.add_option("--device", options->device, "auto (default: cuda:0) or cuda:N")->type_name("DEVICE");
  CLI::Option* const samples = command.add_option("--samples", options->samples, "Of each timing (default 9)")->type_name("N");
  CLI::Option* const seed = command.add_option("--seed", options->seed, "Of the data (default 1)")->type_name("N");
  command
      .add_option("--predict", options->predict,
                  "sm_90a or sm_100a: times that the cycle model predicts, without a GPU (needs nvdisasm)")
      ->type_name("ARCH")
      ->excludes(check, device, samples, seed);
  command.add_option("-o,--output", options->output, "File for the table (default: stdout)")->type_name("FILE");
}

void Grammar::add_cache() {
  CLI::App& cache = *root_.add_subcommand("cache", "Look at the cache of compiled kernels");
  cache.require_subcommand(1);
  add(cache, "list", "What is in it", run_cache_list);
  add(cache, "verify", "Read every entry and check it", run_cache_verify);
}

std::string Grammar::words_understood() const {
  std::string words;
  for (const CLI::App* app = &root_; !app->get_subcommands().empty();) {
    app = app->get_subcommands().front();
    words += (words.empty() ? "" : " ") + app->get_name();
  }
  return words;
}

ParsedCommand Grammar::parse(int argc, const char* const* argv) {
  try {
    root_.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    parsed_.text = root_.help();
  } catch (const CLI::CallForVersion& version) {
    parsed_.text = std::string(version.what()) + "\n";
  } catch (const CLI::ParseError& error) {
    const std::string words = words_understood();
    const std::vector<std::string> unknown = root_.remaining(/*recurse=*/true);
    parsed_.error = Error{ErrorCode::invalid_argument,
                          unknown.empty() ? error.what() : "not understood: '" + unknown.front() + "'",
                          "'mlaindex " + words + (words.empty() ? "" : " ") + "--help' lists what is allowed"};
    // The words after the wrong one were not read; whoever asked for JSON gets JSON.
    parsed_.common.json = std::any_of(argv, argv + argc, [](std::string_view word) { return word == "--json"; });
  }
  parsed_.name = words_understood();
  return std::move(parsed_);
}

}  // namespace

ParsedCommand parse_command(int argc, const char* const* argv) { return Grammar().parse(argc, argv); }

}  // namespace mlaindex::tools
