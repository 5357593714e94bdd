#include "tools/score_case.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "generator/base/format.h"
#include "tools/kernel_report.h"

namespace mlaindex::tools {
namespace {

// Before a checked run every byte of the scores is this, so that a stray write shows.
constexpr std::byte poison{0xa5};

class Stopwatch {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

std::span<std::byte> bytes_of(AlignedBytes& block) { return {block.data(), block.size()}; }

Result<AlignedBytes> score_buffer(const ScoreProblem& problem, bool poisoned) {
  const std::size_t bytes = score_buffer_bytes(problem);
  AlignedBytes buffer(bytes);
  if (buffer.size() != bytes) {
    return Error{ErrorCode::out_of_memory, fmt::format("no memory for {} bytes of scores", bytes),
                 "score fewer tokens at once"};
  }
  if (poisoned) std::fill_n(buffer.data(), bytes, poison);
  return buffer;
}

// Slots that nobody writes hold the poison; in a file they are zero.
void clear_untouched(const ScoreProblem& problem, std::span<std::byte> scores) {
  if (problem.fill != Fill::none) return;
  const auto width = static_cast<std::int64_t>(score_bytes(problem.score_type));
  for (std::int64_t token = 0; token < problem.num_tokens; ++token) {
    const KeyRange visible = visible_range(problem, token);
    const auto clear = [&](std::int64_t begin, std::int64_t end) {
      std::fill_n(scores.data() + (token * problem.row_stride + begin) * width, (end - begin) * width, std::byte{});
    };
    clear(0, visible.begin);
    clear(visible.end, problem.num_columns);
  }
}

// The scores in the file come from some device: they get the bound of the one that rounds most.
Result<CheckReport> check_file_scores(const Case& input) {
  ScoreProblem problem = input.problem;
  problem.score_type = input.scores->dtype == "BF16" ? ScoreType::bf16 : ScoreType::f32;
  problem.fill = Fill::none;
  const CheckOptions options{.accumulation = accumulation_model(Arch::sm_90a), .bitwise = input.exact, .poison = {}};
  return check_scores(problem, {input.scores->data.data(), input.scores->data.size()}, options);
}

Status check(const Case& input, ScoredCase& scored) {
  const Stopwatch watch;
  const CheckOptions options{.accumulation = scored.run.accumulation, .bitwise = input.exact, .poison = poison};
  Result<CheckReport> reference = check_scores(input.problem, bytes_of(scored.scores), options);
  if (!reference) return std::move(reference).error();
  scored.against_reference = *std::move(reference);
  if (input.scores != nullptr) {
    Result<CheckReport> file = check_file_scores(input);
    if (!file) return std::move(file).error();
    scored.against_file = *std::move(file);
  }
  clear_untouched(input.problem, bytes_of(scored.scores));
  scored.check_milliseconds = watch.milliseconds();
  return {};
}

// One row a role: what it waited for most, and for which share of its time.
std::string waits_text(const std::vector<WarpWait>& waits) {
  constexpr std::size_t shown_waits = 3;
  constexpr double shown_share = 0.005;
  struct Role {
    std::string name, text;
    double share = 0;
    std::size_t shown = 0;
  };
  std::vector<Role> roles;
  for (const WarpWait& wait : waits) {
    auto role = std::find_if(roles.begin(), roles.end(), [&](const Role& r) { return r.name == wait.role; });
    if (role == roles.end()) role = roles.insert(roles.end(), Role{wait.role, {}, 0, 0});
    role->share += wait.share;
    if (wait.share < shown_share || role->shown++ >= shown_waits) continue;
    role->text += fmt::format("{}{} {:.0f} %", role->text.empty() ? ": " : ", ", wait.waits_for, 100 * wait.share);
  }
  std::string text;
  for (const Role& role : roles) {
    text += fmt::format("{}{} waits {:.0f} % of the time{}", text.empty() ? "" : "\n",
                        role.name.substr(0, role.name.find_first_of(":,")), 100 * role.share,
                        role.text);
  }
  return text;
}

Json report_json(const CheckReport& report) {
  Json json{{"passed", report.passed()},
            {"scores_checked", report.scores_checked},
            {"fills_checked", report.fills_checked},
            {"untouched_checked", report.untouched_checked},
            {"mismatches", report.mismatches},
            {"max_absolute_error", report.max_absolute_error},
            {"max_error_to_bound", report.max_error_to_bound}};
  if (report.first_mismatch) {
    const ScoreMismatch& first = *report.first_mismatch;
    json["first_mismatch"] = {{"token", first.token}, {"column", first.column}, {"got", first.got},
                              {"want", first.want},   {"bound", first.bound},   {"reason", first.reason}};
  }
  return json;
}

std::string verdict(const Case& input, const ScoredCase& scored) {
  if (scored.runs_that_differ > 0) {
    return fmt::format("FAIL: {} of the repeated runs gave other bits", scored.runs_that_differ);
  }
  if (!scored.against_reference) return "not checked; --check compares with the f64 reference";
  if (!scored.against_reference->passed()) return "FAIL: " + summary(*scored.against_reference);
  if (scored.against_file && !scored.against_file->passed()) {
    return "FAIL: the scores in the file: " + summary(*scored.against_file);
  }
  return input.exact ? "PASS: the reference's very bits" : "PASS: every score is within its bound";
}

}  // namespace

bool ScoredCase::passed() const noexcept {
  return runs_that_differ == 0 && (!against_reference || against_reference->passed()) &&
         (!against_file || against_file->passed());
}

Result<ScoredCase> score_case(Device& device, const Case& input, const ScoreSettings& settings) {
  const RunOptions options{.plan_name = settings.plan, .timed_runs = 0, .guard_zones = settings.check};
  ScoredCase scored;
  std::vector<double> kernel_milliseconds;
  for (int repeat = 0; repeat < settings.repeats; ++repeat) {
    Result<AlignedBytes> buffer = score_buffer(input.problem, settings.check);
    if (!buffer) return std::move(buffer).error();
    const Stopwatch watch;
    Result<ScoreRun> run = device.score(input.problem, bytes_of(*buffer), options);
    if (!run) return std::move(run).error();
    if (run->kernel_milliseconds) kernel_milliseconds.push_back(*run->kernel_milliseconds);
    if (repeat == 0) {
      scored.score_milliseconds = watch.milliseconds();
      scored.run = *std::move(run);
      scored.scores = *std::move(buffer);
    } else if (!std::equal(buffer->data(), buffer->data() + buffer->size(), scored.scores.data())) {
      ++scored.runs_that_differ;
    }
  }
  if (!kernel_milliseconds.empty()) {
    const auto middle = kernel_milliseconds.begin() + static_cast<std::ptrdiff_t>(kernel_milliseconds.size() / 2);
    std::nth_element(kernel_milliseconds.begin(), middle, kernel_milliseconds.end());
    scored.run.kernel_milliseconds = *middle;
  }
  if (settings.check) {
    if (Status checked = check(input, scored); !checked) return checked.error();
  }
  return scored;
}

void print_scored_case(Output& output, const Case& input, const ScoredCase& scored) {
  std::string times = "scored in " + milliseconds_text(scored.score_milliseconds);
  if (scored.run.kernel_milliseconds) {
    times += fmt::format(", the kernel alone {}", milliseconds_text(*scored.run.kernel_milliseconds));
  }
  if (scored.against_reference) times += ", checked in " + milliseconds_text(scored.check_milliseconds);
  output.row("times", times);
  if (!scored.run.evidence.empty()) output.row("shown", scored.run.evidence);
  if (!scored.run.waits.empty()) output.row("stalls", waits_text(scored.run.waits));
  if (scored.against_reference) {
    const CheckReport& report = *scored.against_reference;
    output.row("error", fmt::format("at most {:.3g}, {:.1f} % of what is allowed there, in {} scores",
                                    report.max_absolute_error, 100 * report.max_error_to_bound, report.scores_checked));
  }
  output.row("verdict", verdict(input, scored));
}

Json scored_case_json(const ScoredCase& scored) {
  Json json{{"device", scored.run.device},
            {"passed", scored.passed()},
            {"score_ms", scored.score_milliseconds},
            {"runs_that_differ", scored.runs_that_differ}};
  if (!scored.run.evidence.empty()) json["evidence"] = scored.run.evidence;
  for (const WarpWait& wait : scored.run.waits) {
    json["stalls"].push_back(
        {{"role", wait.role}, {"waits_for", wait.waits_for}, {"share", wait.share}, {"times", wait.times}});
  }
  if (scored.run.kernel_milliseconds) json["kernel_ms"] = *scored.run.kernel_milliseconds;
  if (scored.against_reference) {
    json["check_ms"] = scored.check_milliseconds;
    json["against_reference"] = report_json(*scored.against_reference);
  }
  if (scored.against_file) json["against_file"] = report_json(*scored.against_file);
  return json;
}

}  // namespace mlaindex::tools
