// The commands of the command line: what each is told, and what runs it. One .cpp file per command.
// Results and messages go through the session's output; errors are returned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/base/result.h"
#include "tools/exit_code.h"
#include "tools/make_case.h"
#include "tools/options.h"
#include "tools/score_settings.h"
#include "tools/session.h"

namespace mlaindex::tools {

// The CUDA source of a kernel.
Result<ExitCode> run_emit(Session& session, const SpecOptions& options);

struct ExplainOptions {
  SpecOptions spec;
  bool model = false;  // compile it, and predict its time from its machine code
  std::string gpu;     // of the model: h200, b200; empty: that of the arch
};
// The plan of a kernel, and with problem sizes a lower bound of its time.
Result<ExitCode> run_explain(Session& session, const ExplainOptions& options);

struct CompileOptions {
  SpecOptions spec;
  std::string emit = "report";  // ptx, cubin, report
  std::string output;           // empty: stdout
  std::vector<std::string> rewrite;  // see tools/rewrite_options.h; empty: as it is
};
Result<ExitCode> run_compile(Session& session, const CompileOptions& options);

struct ScoreOptions {
  std::vector<std::string> inputs;
  std::string output;  // empty: none; a folder for several inputs
  std::string device = "auto";
  std::string arch;    // empty: that of the device
  std::string score_type = "f32";
  std::string fill = "none";
  std::string fold = "f32";
  ScoreSettings settings;
  std::string trace;           // file for the timeline; empty: none
  std::uint64_t schedule = 2;  // of the emulator: its seed; 2 mixes early and late completions
};
Result<ExitCode> run_score(Session& session, const ScoreOptions& options);

struct MakeCaseOptions {
  std::string output;
  CaseRequest request;
  std::optional<std::int64_t> num_requests, num_tokens;
  std::string mask;  // empty: ragged_causal, of paged keys context
  bool with_scores = false;
};
Result<ExitCode> run_make_case(Session& session, const MakeCaseOptions& options);

struct PrewarmOptions {
  std::vector<std::string> archs{"sm_90a", "sm_100a"};
  std::vector<std::string> presets;
  std::vector<int> num_heads;
  std::vector<int> depths{128};
  std::vector<int> page_sizes{64};  // of paged keys
  std::string fold = "f32";
  int jobs = 0;  // 0: one per core
};
Result<ExitCode> run_prewarm(Session& session, const PrewarmOptions& options);

struct BenchOptions {
  std::vector<std::string> presets;  // neither these nor heads: deepseek-v3.2
  std::vector<int> num_heads;
  int depth = 128;                   // of num_heads
  std::vector<std::string> prefill;  // TOKENSxKEYS; neither these nor decode: the default lists of both
  std::vector<std::string> decode;   // REQUESTSxNEXT_NxCONTEXT
  int page_size = 64;                // of decode
  std::string score_type = "f32";
  std::string fill = "none";
  std::string fold = "f32";
  std::string device = "auto";       // a GPU
  std::string plot;                  // SVG file; empty: none
  int samples = 30;
  std::uint64_t seed = 1;
};
// Times scoring on a GPU, after a check.
Result<ExitCode> run_bench(Session& session, const BenchOptions& options);

struct TuneOptions {
  std::vector<int> num_heads{4, 8, 16, 32, 64, 128};
  std::vector<int> depths{128};
  int page_size = 64;           // of paged keys
  std::string predict;          // an arch: times of the cycle model instead of measured ones; empty: measure
  bool check = false;           // judge the table in effect instead of making one
  std::string output;           // file of the table; empty: stdout
  std::string device = "auto";  // a GPU
  int samples = 9;
  std::uint64_t seed = 1;
};
// Times every plan that a route may choose over a grid of sizes, after a check, or predicts the times: a route table.
Result<ExitCode> run_tune(Session& session, const TuneOptions& options);

Result<ExitCode> run_cache_list(Session& session);
Result<ExitCode> run_cache_verify(Session& session);

// What works on this machine.
Result<ExitCode> run_doctor(Session& session);

}  // namespace mlaindex::tools
